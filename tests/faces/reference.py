"""reference.py DOXYGEN DOXYFILE XML HEADER: the reference renders without a warning, and every public call of the header
is described there. Exit status 77: there is no Doxygen."""

import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree


def words_of(member):
    return "".join(text for name in ("briefdescription", "detaileddescription") for text in member.find(name).itertext())


def main():
    doxygen, doxyfile, folder, header = sys.argv[1:]
    if not shutil.which(doxygen):
        print("skipped: no doxygen")
        sys.exit(77)
    rendered = subprocess.run([doxygen, doxyfile], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if rendered.returncode != 0 or rendered.stdout:
        sys.exit(f"{rendered.stdout}doxygen: exit status {rendered.returncode}")
    page = xml.etree.ElementTree.parse(pathlib.Path(folder) / "rope_8h.xml")
    described = {
        member.findtext("name") for member in page.iter("memberdef") if member.get("kind") == "function" and words_of(member).strip()
    }
    declared = set(re.findall(r"^ROPE_API [^(]*?(\w+)\(", pathlib.Path(header).read_text(), re.MULTILINE))
    if not declared:
        sys.exit(f"{header} declares nothing")
    missing = sorted(declared - described)
    if missing:
        sys.exit(f"without a comment in {header}: {', '.join(missing)}")
    print(f"{len(declared)} public calls, each described")


main()
