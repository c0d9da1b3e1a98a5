"""words.py: sentences begin with their subject (CONTRIBUTING.md). This counts those that open with Of, What, Whether or From, which
announce a topic and leave the reader waiting for the verb. Comments of host/, shaders/, tests/ and bench/ may have 25 of them;
README.md, CONTRIBUTING.md, SECURITY.md and docs/ may have none, but for headings."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = {"comments": 25, "documents": 0}
OPENER = re.compile(r"(?:^|\n\s*\n|[.?!]\)?\s)\W*(Of|What|Whether|From)\b")
C_LIKE = re.compile(
    r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*)', re.DOTALL)
HASHES = re.compile(r'(?<![^\s])()(#[^\n]*(?:\n[ \t]*#[^\n]*)*|(?<=""").*?(?="""))', re.DOTALL)
PATTERNS = {**dict.fromkeys([".c", ".h", ".cpp", ".hpp", ".comp", ".glsl", ".hlsl"], C_LIKE),
            **dict.fromkeys([".py", ".sh", ".cmake"], HASHES)}


def comments_of(text, pattern):
    """Each comment, without its headings ("---- Runs"), and its line. Comments that follow each other line by line are one."""
    for match in pattern.finditer(text):
        if match[2]:
            comment = re.sub(r"^[ \t]*(?://|/?\*+(?!/)|#+)(?: -{3,}.*)?", "", match[2], flags=re.MULTILINE)
            yield text.count("\n", 0, match.start(2)) + 1, comment.strip()


def paragraphs_of(text):
    """The text of a Markdown file, without headings and code, and with each row of a table by itself."""
    text = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(#| {4}).*", "", text, flags=re.MULTILINE)
    yield 1, re.sub(r"^[|-]", ". ", text, flags=re.MULTILINE)


def openers(paths, parts_of):
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        for line, part in parts_of(path, text):
            for match in OPENER.finditer(part):
                words = " ".join(part[match.start(1):match.start(1) + 60].split())
                yield f"{path.relative_to(ROOT)}:{line + part.count(chr(10), 0, match.start(1))}: {words}"


def main():
    sources = [path for folder in ("host", "shaders", "tests", "bench") for path in (ROOT / folder).rglob("*")
               if path.suffix in PATTERNS]
    documents = [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
    if len(sources) < 300 or len(documents) < 8:
        sys.exit(f"only {len(sources)} sources and {len(documents)} documents: they are not where they are looked for")
    found = {"comments": [*openers(sources, lambda path, text: comments_of(text, PATTERNS[path.suffix]))],
             "documents": [*openers(documents, lambda _, text: paragraphs_of(text))]}
    print(*found["comments"], *found["documents"], sep="\n")
    misses = [f"{len(places)} sentences in {kind} open with Of, What, Whether or From, and at most {MOST[kind]} may"
              for kind, places in found.items() if len(places) > MOST[kind]]
    if misses:
        sys.exit("; ".join(misses))


main()
