"""twins.py FILE...: two C++ files of one program may not define different types of one name, which no compiler and no linker
sees. So each type outside an anonymous namespace has one definition in these files."""

import collections
import re
import sys

NAMESPACE = re.compile(r"\s*namespace(?:\s+([\w:]+))?\s*\{")
TYPE = re.compile(r"\s*(?:typedef\s+)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(\w+)[^;()]*\{")


def code_of(path):
    """The file's lines without their comments, strings and characters."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda raw: '""' + "\n" * raw[0].count("\n"), text, flags=re.DOTALL)
    for line in text.split("\n"):
        line = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
        yield re.sub(r"'(?:\\.|[^'\\])'", "''", line).split("//")[0]


def types_of(path):
    """Every type at the level of a namespace: its qualified name, and its line."""
    namespaces, depth = [], 0
    for number, line in enumerate(code_of(path), 1):
        if re.match(r'\s*extern "" \{', line):
            depth -= 1  # it is no level
        namespace = NAMESPACE.match(line)
        found = TYPE.match(line)
        if namespace:
            namespaces.append((namespace[1], depth))
        elif found and depth == len(namespaces) and all(name for name, _ in namespaces):
            yield "::".join([*(name for name, _ in namespaces), found[1]]), number
        depth = max(0, depth + line.count("{") - line.count("}"))
        while namespaces and depth <= namespaces[-1][1]:
            namespaces.pop()


def main():
    places = collections.defaultdict(list)
    for path in sys.argv[1:]:
        for name, line in types_of(path):
            places[name].append(f"{path}:{line}")
    if len(places) < 100:
        sys.exit(f"only {len(places)} types in {len(sys.argv) - 1} files: they are not read as they are written")
    twins = [f"{name} is defined in {' and in '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    if twins:
        sys.exit("\n".join(twins))
    print(f"{len(places)} types, each defined once")


main()
