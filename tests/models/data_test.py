#!/usr/bin/env python3
"""Holds the data files of host/models to what records.def says of them: data_test.py WRITER. WRITER is the built
vkrope-write-tables. A file that does not fit stops it with the file, the line and the key, and nothing is written."""
import json
import os
import re
import subprocess
import sys
import tempfile

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "models")
NAMES = ["text.json", "vision.json", "diffusers.json", "gguf.json"]

# A file, a text in it and what stands there instead, the key that is named, and a part of the sentence.
FAULTS = [("text.json", '"llama": {', '"llama": {"hiden_size": 4096, ', "hiden_size", "is not one of the keys that a record has: like, from"),
          ("text.json", '"llama": {', '"llama": {"partial_head": 1, ', "partial_head", "is 1; it must be true or false"),
          ("text.json", '"llama": {', '"llama": {"layers": 3.5, ', "layers", "is 3.5; it must be a whole number"),
          ("text.json", '"llama": {', '"llama": {"base": "10000", ', "base", 'is "10000"; it must be a number'),
          ("text.json", '"llama": {', '"llama": {"parameters": [], ', "parameters", "is []; it must be an object"),
          ("text.json", '"llama": {', '"llama": {"reads": "alpha", ', "reads", 'is "alpha"; it must be a list'),
          ("text.json", '"llama": {', '"llama": {"reads": [1], ', "reads", "is 1; it must be a text"),
          ("text.json", '"llama": {', '"llama": {"pairing": "halves", ', "pairing", 'is "halves"; it may be half, interleaved'),
          ("text.json", '"llama": {', '"llama": {"remarks": ["none"], ', "remarks", 'has "none", which is none of the file\'s remarks'),
          ("text.json", '"llama": {', '"llama": {"like": "lama", ', "like", 'is "lama", which is no record of the file'),
          ("text.json", '"llama": {', '"llama": {"like": "solar", ', "like", "which is like this record"),
          ("text.json", '"bitnet": {', '"bitnet": {"period_key": "every", ', "bitnet", "has period_key, which means nothing without period"),
          ("text.json", '"bitnet": {', '"bitnet": {"partial": 0.5, ', "bitnet", "has partial, which means nothing without partial_head"),
          ("text.json", '"mixtral": {', '"llama": {', "llama", "is there twice"),
          ("text.json", '"say": "the model\'s own code turns the first head alone"', '"sai": ""', "turns_first_head", "must have a `say`"),
          ("text.json", '"instead": {', '"insted": {', "instead", "is missing"),
          ("vision.json", '"registers": 8', '"registers": -8', "registers", "is -8; it must be a whole number"),
          ("diffusers.json", '"dims": [64, 64]', '"dims": [64, "h"]', "dims", 'is "h"; it must be a whole number'),
          ("gguf.json", '"rotating": "all"', '"rotating": "some"', "rotating", 'is "some"; it may be unsaid, all'),
          ("gguf.json", '"from"', '"form"', "from", "is missing")]


def read(name):
    with open(os.path.join(MODELS, name), encoding="utf-8") as file:
        return file.read()


def write_tables(writer, texts):
    """What the writer says of the files; the tables, where it wrote any."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        out = os.path.join(folder, "tables")
        done = subprocess.run([writer, folder, out], capture_output=True, text=True)
        assert (done.returncode, os.path.exists(out)) in [(0, True), (2, False)], done
        return done.stderr.replace(folder + "/", ""), os.path.exists(out)


def check_faults(writer, files):
    for name, before, after, key, sentence in FAULTS:
        assert before in files[name], before
        line = files[name][:files[name].index(before)].count("\n") + 1
        said, written = write_tables(writer, {**files, name: files[name].replace(before, after, 1)})
        place = re.fullmatch(r"(\S+):(\d+): (\S+) (.*)\n", said)
        assert place and not written, (after, said)
        assert place.group(1) == name and place.group(3) == key and sentence in place.group(4), (after, said)
        assert "is missing" in sentence or "twice" in sentence or int(place.group(2)) == line, (line, said)


def main():
    files = {name: read(name) for name in NAMES}
    assert write_tables(sys.argv[1], files) == ("", True)
    check_faults(sys.argv[1], files)
    said, _ = write_tables(sys.argv[1], {**files, "gguf.json": "{"})
    assert said.startswith("gguf.json: it is not JSON: "), said
    assert set(json.loads(files["text.json"])["layer_types"]["still"]) < set(json.loads(files["text.json"])["layer_types"]["names"])
    print(f"{len(FAULTS) + 1} faults are named by their places")


main()
