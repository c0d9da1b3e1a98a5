#!/usr/bin/env python3
"""Every link of a Markdown page to a file or a folder of the repository leads to one that is there, and to a heading of that page if
it names one, and so does what rope.h names of docs/. So does every script that a workflow of .github calls. A script that begins a line of commands on a page can be run."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)\s]+)\)")
IN_HEADER = re.compile(r'docs/(\w+\.md)(?: \(|: )"([^"]+)"')
COMMAND = re.compile(r"^    (?:\w+=\S+ )*((?:\w+/)+\w+\.(?:sh|py))", re.MULTILINE)
SCRIPT = re.compile(r"run:.*?((?:\w+/)+\w+\.\w+)")


def pages():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        yield from (os.path.join(folder, name) for name in files if name.endswith(".md"))


def links_of(page):
    """The places in this repository that a page leads to, each with the heading that it names, or none."""
    with open(page, encoding="utf-8") as file:
        parts = (link.partition("#") for link in LINK.findall(file.read()) if "://" not in link)
    return [(os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, heading) for path, _, heading in parts]


def headings_of(page):
    """What GitHub makes of a page's headings: small letters, digits and hyphens."""
    with open(page, encoding="utf-8") as file:
        headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_of(page):
    with open(page, encoding="utf-8") as file:
        return [os.path.join(ROOT, path) for path in COMMAND.findall(file.read())]


def scripts_of(workflow):
    with open(workflow, encoding="utf-8") as file:
        return [os.path.join(ROOT, path) for path in SCRIPT.findall(file.read())]


def main():
    links = [(page, path, heading) for page in pages() for path, heading in links_of(page)]
    links += [(file, path, "") for file in glob.glob(ROOT + "/.github/workflows/*.yml") for path in scripts_of(file)]
    with open(ROOT + "/host/include/vkrope/rope.h", encoding="utf-8") as file:
        named = IN_HEADER.findall(re.sub(r"\s+(?:\* )?", " ", file.read()))
    links += [("rope.h", f"{ROOT}/docs/{page}", re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")) for page, heading in named]
    faults = [f"{os.path.relpath(page, ROOT)}: there is no {os.path.relpath(path, ROOT)}{heading and '#' + heading}"
              for page, path, heading in links
              if not os.path.exists(path) or heading and path.endswith(".md") and heading not in headings_of(path)]
    commands = [(page, path) for page in pages() for path in commands_of(page)]
    faults += [f"{os.path.relpath(page, ROOT)}: {os.path.relpath(path, ROOT)} cannot be run"
               for page, path in commands if not os.access(path, os.X_OK)]
    print("\n".join(faults) or f"{len(links)} links lead to files that are there, {len(commands)} commands to scripts that can be run")
    return 1 if faults or not links or not commands else 0


sys.exit(main())
