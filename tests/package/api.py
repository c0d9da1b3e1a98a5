#!/usr/bin/env python3
"""Compares the public interface with tests/package/api.txt: api.py [--renew] CC VULKAN-INCLUDE

The compiler reads rope.h: every function's declaration, every structure's size, its members' types, places and sizes, every
enumerator's and every constant's value. rope.glsl and bias.glsl are read as text: their functions of the name rope_. --renew
writes api.txt anew. The version is left out, since a new one is no change of the interface."""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "tests/package/api.txt"
HEADER = ROOT / "host/include/vkrope/rope.h"
SHADERS = ["rope.glsl", "bias.glsl", "numbers/angle.h", "numbers/divide.h", "numbers/pair.h"]
LEFT_OUT = r"ROPE_API|ROPE_VERSION\w*|VKROPE_\w+"  # macros
HEAD = """# The public interface, as a 64-bit build has it. tests/package/api.py has made this file. What may change, and what a change
# takes, stands in CONTRIBUTING.md.
"""
SENTENCE = """
The public interface is not the one of tests/package/api.txt (-: there alone, +: here alone). If you mean it, write a line into
CHANGELOG.md under "{}" that says what to write instead, and renew the file: cmake --build BUILD --target vkrope-api"""


def preprocess(compiler):
    """The text of rope.h alone, and its macros without arguments."""
    run = subprocess.run([*compiler, "-E", "-dD", HEADER], capture_output=True, text=True, check=True)
    own, lines = False, []
    for line in run.stdout.splitlines():
        if re.match(r"# \d+ ", line):
            own = f'"{HEADER}"' in line
        elif own:
            lines.append(line)
    macros = [re.match(r"#define (\w+) \S", line) for line in lines]
    names = [found[1] for found in macros if found and not re.fullmatch(LEFT_OUT, found[1])]
    return "\n".join(line for line in lines if not line.startswith("#")), names


def plain(text):
    return re.sub(r"\s*([()*\[\]])", r"\1", re.sub(r"\s*,\s*", ", ", " ".join(text.split())))


def members(body):
    """(name, type) of each member: `uint64_t *a, b[2]` are two."""
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        first, *others = declaration.split(",")
        kind, stars, name, count = re.fullmatch(r"(.*?[\w\s])\s*(\**)\s*\b(\w+)((?:\[\w+\])*)", " ".join(first.split())).groups()
        yield name, plain(kind + stars + count)
        for other in others:
            stars, name, count = re.fullmatch(r"\s*(\**)(\w+)((?:\[\w+\])*)", other).groups()
            yield name, plain(kind + stars + count)


def printed(text, names):
    """Statements that print what the compiler makes of it."""
    for name in names:
        yield f'printf("constant {name} = %lld\\n", (long long)({name}));'
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, re.S):
        yield f'printf("enumeration {name}: %zu bytes\\n", sizeof({name}));'
        for one in re.findall(r"(\w+)\s*=", body):
            yield f'printf("enumerator {one} = %lld\\n", (long long){one});'
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        yield f'printf("structure {name}: %zu bytes\\n", sizeof({name}));'
        for one, kind in members(body):
            yield (f'printf("member {name}.{one}: {kind}, %zu bytes at %zu\\n", sizeof((({name}*)0)->{one}),'
                   f' offsetof({name}, {one}));')


def of_header(compiler):
    text, names = preprocess(compiler)
    statements = "\n".join(printed(text, names))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "api.c")
        source.write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{\n{statements}\nreturn 0;\n}}\n')
        subprocess.run([*compiler, source, "-o", f"{folder}/api"], check=True)
        yield from subprocess.run([f"{folder}/api"], capture_output=True, text=True, check=True).stdout.splitlines()
    outside = re.sub(r"\{.*?\}", "", text.replace('extern "C" {', ""), flags=re.S)
    for found in re.findall(r"(?:^|;)([^;]*\brope[A-Z]\w*\s*\([^;]*\))\s*(?=;)", outside):
        yield "function " + plain(found)


def of_shaders():
    for name in SHADERS:
        text = re.sub(r"//[^\n]*", "", (ROOT / "shaders" / name).read_text())
        for found in re.findall(r"^(?:ROPE_FUNCTION )?(\w+ rope_\w+\([^)]*(?:\([^)]*\)[^)]*)*\))\s*\{", text, re.M):
            yield f"{pathlib.PurePath(name).name}: {plain(found)}"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--renew"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    compiler = [arguments[0], "-std=c99", "-xc", "-I", arguments[1]]
    lines = [*of_header(compiler)]
    declared = len(re.findall(r"^ROPE_API |^typedef (?:struct|enum) \w+ {", HEADER.read_text(), re.M))
    found = sum(line.startswith(("function ", "structure ", "enumeration ")) for line in lines)
    if found != declared:
        sys.exit(f"rope.h declares {declared} functions, structures and enumerations, and this script reads {found}")
    made = HEAD + "".join(f"{line}\n" for line in [*lines, *of_shaders()])
    if "--renew" in sys.argv:
        FILE.write_text(made)
        return
    kept = FILE.read_text()
    if made == kept:
        print(f"{made.count(chr(10))} lines")
        return
    lines = difflib.unified_diff(kept.splitlines(), made.splitlines(), lineterm="", n=0)
    print("\n".join(line for line in lines if not line.startswith(("---", "+++", "@@"))))
    sys.exit(SENTENCE.format(re.search(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]))


main()
