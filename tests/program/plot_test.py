import os
import xml.etree.ElementTree

from model import write_config
from program import expect_refusal, run, test


@test
def plots_are_well_formed_and_name_their_models():
    os.mkdir("long & wide")
    write_config("long & wide/config.json", max_position_embeddings=131072,
                 rope_scaling={"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 16384})
    write_config()
    for kind in ["ladder", "ramp", "decay", "arrows", "accuracy"]:
        run("plot", kind, "--config", "config.json", "--config", "long & wide/config.json", "-o", "out.svg")
        text = open("out.svg").read()
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and "long & wide" in "".join(root.itertext()), kind
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "") and "nan" not in text, kind
        assert "prefers-color-scheme: dark" in text
    expect_refusal("a pair beyond", ["plot", "arrows", "--config", "config.json", "--pair", "32", "-o", "out.svg"], "--pair",
                   sorted(os.listdir(".")))
    expect_refusal("no such folder", ["plot", "ladder", "--config", "config.json", "-o", "none/out.svg"], "no folder",
                   sorted(os.listdir(".")))


@test
def pictures_of_other_encodings_are_well_formed():
    for arguments in [["buckets"], ["buckets", "--bidirectional", "--buckets", "16", "--max-distance", "64"],
                      ["sinusoid"], ["sinusoid", "--halves", "--dim", "10", "--positions", "3", "--base", "50"]]:
        run("plot", *arguments, "-o", "out.svg")
        text = open("out.svg").read()
        xml.etree.ElementTree.fromstring(text)
        assert "nan" not in text and "prefers-color-scheme: dark" in text, arguments
    before = sorted(os.listdir("."))
    expect_refusal("odd", ["plot", "sinusoid", "--dim", "7", "-o", "o.svg"], "--dim is 7", before)
    expect_refusal("buckets", ["plot", "buckets", "--buckets", "3", "--bidirectional", "-o", "o.svg"], "buckets is 3", before)
    expect_refusal("no model", ["plot", "ladder", "-o", "o.svg"], "--config is missing", before)
    for arguments, sentence in [(["ladder", "--pair", "3"], "--pair goes with arrows, and not with ladder"),
                                (["sinusoid", "--config", "c.json"], "--config goes with ladder, ramp, decay, arrows and accuracy, and not"),
                                (["buckets", "--dim", "8"], "--dim goes with sinusoid, and not with buckets"),
                                (["arrows", "--bidirectional"], "--bidirectional goes with buckets, and not with arrows")]:
        expect_refusal(sentence, ["plot", *arguments, "-o", "o.svg"], sentence, before)
