"""The documents' counts are what the program and the tests' data have."""
import json
import os
import re

from program import run, test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENTS = ["README.md", "CHANGELOG.md", "docs/accuracy.md", "docs/program.md", "docs/portability.md", "bench/NOTES.md"]


def figures(pattern):
    """Every number of the documents that stands where the pattern has its group: {number: the documents that state it}."""
    found = {}
    for name in DOCUMENTS:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        for number in re.findall(pattern, text):
            found.setdefault(int(number.replace(" ", "")), set()).add(name)
    return found


def expect_stated(pattern, right):
    found = figures(pattern)
    assert "README.md" in found.get(right, ()), f"README.md has no '{pattern}' of {right}"
    assert set(found) == {right}, f"{right} is right, and the documents state {found}"


@test
def documents_count_cases_as_check_does():
    tables, rotations = re.search(r"(\d+) tables and (\d+) rotations", run("check", "--help")[0]).groups()
    expect_stated(r"(\d[\d ]*\d) cases (?:of|over)", int(tables) + int(rotations))


@test
def documents_count_models_as_the_program_does():
    listed = json.loads(run("models", "--json")[0])
    expect_stated(r"(\d+) model types", sum(model["kind"] == "text" for model in listed))


@test
def documents_count_experiments_as_their_data_does():
    with open(os.path.join(ROOT, "tests", "data", "keys.json"), encoding="utf-8") as file:
        types = json.load(file)["types"]
    expect_stated(r"(\d+) experiments", sum(len(indices) for outcomes in types.values() for _, indices in outcomes))
