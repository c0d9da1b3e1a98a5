#!/usr/bin/env python3
"""The reader of models knows behaviours, and the data know types: no text between quotes in host/models equals the name of a
type or begins with it. docs/models.md lists the behaviours of text.json that one type alone has, twelve at most, and the counts
that README.md gives are those of the data."""
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


def listed_fields(kind):
    """The keys of records that are flags, and the words of those that are choices."""
    schema = read("host", "models", "records.def")
    flags = re.findall(rf"^{kind}\(Flag, (\w+),", schema, re.M)
    choices = dict(re.findall(r"^ROPE_CHOICE\((\w+), ([\w, ]+)\)", schema, re.M))
    words = {key: choices[name].split(", ") for name, key in re.findall(rf"^{kind}\(Choice_(\w+), (\w+),", schema, re.M)}
    return flags, words


def check_alone(types):
    flags, words = listed_fields("ROPE_TEXT")
    behaviours = {key: [] for key in flags} | {f"{key}: {word}": [] for key in words for word in words[key]}
    for name in types:
        record = whole(types, name)
        for key in flags:
            if record.get(key):
                behaviours[key].append(name)
        for key in words:
            behaviours[f"{key}: {record.get(key, words[key][0])}"].append(name)
    alone = {behaviour: names[0] for behaviour, names in behaviours.items() if len(names) == 1}
    faults.extend(f"records.def: no type has {behaviour}" for behaviour, names in behaviours.items() if not names)
    rows = dict(re.findall(r"^\| `([a-z_]+(?:: [a-z_]+)?)` \| `([^`]+)` \|", read("docs", "models.md"), re.M))
    if rows != alone:
        faults.append(f"docs/models.md: the behaviours of one type alone are {alone}; the table there has {rows}")
    if len(alone) > MOST_ALONE:
        faults.append(f"text.json: {len(alone)} behaviours are of one type alone; at most {MOST_ALONE}: {alone}")


def check_counts(counts, experiments):
    for pattern, count in counts.items() | experiments.items():
        found = re.findall(rf"(\d+) {pattern}", read("README.md"))
        if [str(count)] != found:
            faults.append(f"README.md: {', '.join(found) or 'no number of'} {pattern}; there are {count}")


def main():
    data = {name: load(name) for name in ("text", "vision", "diffusers", "gguf")}
    names = {name for part in data.values() for key in ("types", "never", "wholes") for name in part.get(key, {})}
    names |= {name for group in data["text"]["instead"].values() for name in group}
    check_literals(names)
    check_alone(data["text"]["types"])
    keys = json.loads(read("tests", "data", "keys.json"))
    tried = {name.split()[0] for name in keys["types"]}
    check_counts({"model types,": len(data["text"]["types"]), "vision parts": len(data["vision"]["types"]),
                  "classes of diffusers": len(data["diffusers"]["types"])},
                 {"experiments": sum(len(sets) for outcomes in keys["types"].values() for _, sets in outcomes),
                  "of these types": len(tried)})
    print("\n".join(faults) if faults else f"{len(names)} names stand in data alone")
    sys.exit(1 if faults else 0)


main()
