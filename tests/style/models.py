#!/usr/bin/env python3
"""The reader of models knows behaviours, and the data know types: no text between quotes in host/models equals the name of a
type or begins with it. docs/models.md lists the behaviours that one type alone has, twelve at most, and the counts that README.md
gives are those of the data. `models.py --write` sets these counts."""
import json
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODELS = os.path.join(ROOT, "host", "models")
MOST_ALONE = 12
NO_TYPES = ("llama3", "llama_4_scaling_beta", "llama.cpp ")  # a rule's name, a key, a project
faults = []


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def load(name):
    return json.loads(read("host", "models", name + ".json"))


def whole(types, name):
    """A record with the keys of those that it is like."""
    record = types[name]
    return {**(whole(types, record["like"]) if "like" in record else {}), **record}


def check_literals(names):
    for folder, _, files in os.walk(MODELS):
        for file in sorted(name for name in files if name.endswith((".cpp", ".hpp"))):
            code = re.sub(r"//.*", "", read(folder, file))
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
                if not text.startswith(NO_TYPES):
                    faults.extend(f"{file}: \"{text}\" begins with the type {name}" for name in names if text.startswith(name))


def check_words(data):
    """A key that the code never names is neither read nor ignored, so a record that has it is misspelt. The keys that records alone
    name (`period_key`, `dims_key` and such) cannot be known."""
    code = "".join(read(folder, file) for folder, _, files in os.walk(MODELS) for file in files if file.endswith((".cpp", ".hpp")))
    for name in ("text", "gguf"):
        for type_name, record in data[name]["types"].items():
            for key in ("reads", "ignores", "ignores_without_rule"):
                faults.extend(f"{name}.json: {type_name} has \"{word}\" in its {key}, and no code reads such a key"
                              for word in record.get(key, []) if f'"{word}"' not in code)


def list_behaviours(kind, types):
    """Who has each behaviour of a file's records: the keys that are flags, and the words of those that are choices. A type is
    named without its separators: cohere2_moe of a config.json is cohere2moe of a .gguf."""
    schema = read("host", "models", "records.def")
    flags = re.findall(rf"^{kind}\(Flag, (\w+),", schema, re.M)
    choices = dict(re.findall(r"^ROPE_CHOICE\((\w+), ([\w, ]+)\)", schema, re.M))
    fields = re.findall(rf"^{kind}\(Choice_(\w+), (\w+), \w+::(\w+)\)", schema, re.M)
    behaviours = {key: set() for key in flags} | {f"{key}: {word}": set() for name, key, _ in fields for word in choices[name].split(", ")}
    for name in types:
        record, plain = whole(types, name), re.sub("[_-]", "", name)
        for key in flags:
            if record.get(key):
                behaviours[key].add(plain)
        for _, key, otherwise in fields:
            behaviours[f"{key}: {record.get(key, otherwise)}"].add(plain)
    return behaviours


def check_alone(data):
    behaviours = {}
    for name, part in data.items():
        for behaviour, types in list_behaviours(f"ROPE_{name.upper()}", part["types"]).items():
            behaviours.setdefault(behaviour, set()).update(types)
    faults.extend(f"records.def: no record has {behaviour}" for behaviour, types in behaviours.items() if not types)
    alone = {behaviour: min(types) for behaviour, types in behaviours.items() if len(types) == 1}
    rows = re.findall(r"^\| `([a-z_]+(?:: [a-z_]+)?)` \| `([^`]+)` \|", read("docs", "models.md"), re.M)
    rows = {behaviour: re.sub("[_-]", "", name) for behaviour, name in rows}
    if rows != alone:
        faults.append(f"docs/models.md: the behaviours of one type alone are {alone}; the table there has {rows}")
    if len(alone) > MOST_ALONE:
        faults.append(f"records.def: {len(alone)} behaviours are of one type alone; at most {MOST_ALONE}: {alone}")


def check_counts(counts):
    readme = read("README.md")
    if "--write" in sys.argv:
        for pattern, count in counts.items():
            readme = re.sub(rf"\d+ {pattern}", f"{count} {pattern}", readme)
        with open(os.path.join(ROOT, "README.md"), "w", encoding="utf-8") as file:
            file.write(readme)
    for pattern, count in counts.items():
        found = re.findall(rf"(\d+) {pattern}", readme)
        if [str(count)] != found:
            faults.append(f"README.md: {', '.join(found) or 'no number of'} {pattern}; there are {count}")


def main():
    data = {name: load(name) for name in ("text", "vision", "diffusers", "gguf")}
    names = {name for part in data.values() for key in ("types", "never", "wholes") for name in part.get(key, {})}
    names |= {name for group in data["text"]["instead"].values() for name in group}
    check_literals(names)
    check_words(data)
    check_alone(data)
    keys = json.loads(read("tests", "data", "keys.json"))
    tried = {name.split()[0] for name in keys["types"]}
    check_counts({"model types,": len(data["text"]["types"]), "vision parts": len(data["vision"]["types"]),
                  "classes of diffusers": len(data["diffusers"]["types"]),
                  "experiments": sum(len(sets) for outcomes in keys["types"].values() for _, sets in outcomes),
                  "of these types": len(tried)})
    print("\n".join(faults) if faults else f"{len(names)} names stand in data alone")
    sys.exit(1 if faults else 0)


main()
