#!/usr/bin/env python3
"""Writes vkrope as a few files that a host copies into its tree.

    amalgamate.py --out FOLDER --spirv FOLDER [--commit ID] --core FILE... --device FILE...

vkrope.h, vkrope.hpp and vkrope.cpp are the core: plans, recording, the CPU's reference and every shader's SPIR-V.
vkrope_device.hpp and vkrope_device.cpp are for programs without a Vulkan of their own. vkrope_rope.glsl and
vkrope_rope.hlsl are the rotation for shaders of others. meson.build builds the sources. FILE names a source, from the
root of the repository, and SPIRV the folder of what glslc has made of shaders/list.def. The same inputs give the same bytes."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE_FOLDERS = [ROOT / folder for folder in ("host/include", "host/core", "host", ".")]
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+[<"]([^">]+)[">]')
CONDITION = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b[ \t]*(.*)")
WORDS_IN_A_LINE = 16


def fail(sentence):
    print(f"amalgamate: {sentence}", file=sys.stderr)
    sys.exit(2)


def read(path):
    return path.read_text(encoding="utf-8")


def version():
    pattern = r"^#define ROPE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)"
    numbers = re.findall(pattern, read(ROOT / "host/include/vkrope/rope.h"), re.M)
    return ".".join(numbers) if len(numbers) == 3 else fail("rope.h names no version")


def commit():
    try:
        asked = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    except OSError:
        return "unknown"  # there is no git
    return asked.stdout.strip() if asked.returncode == 0 else "unknown"


def guard_of(lines):
    """The macro of an include guard, `once`, or None: such a file is read wherever it is included."""
    directives = [line.strip() for line in lines if line.strip().startswith("#")]
    if directives and directives[0] == "#pragma once":
        return "once"
    if len(directives) > 1 and directives[0].startswith("#ifndef ") and directives[1] == "#define " + directives[0][8:]:
        return directives[0][8:]
    return None


class Amalgam:
    """One file, into which others are copied. `macros` says of each macro that a condition may ask for whether it is
    defined; what is left out by it is not copied. `public` names the headers that stay files of their own."""

    def __init__(self, macros, public=None):
        self.macros = macros
        self.public = public or {}
        self.seen = set()
        self.system = []
        self.headers = []
        self.lines = []

    def find(self, name, beside):
        for folder in (beside, *INCLUDE_FOLDERS):
            path = (folder / name).resolve()
            if path.is_file():
                return path
        return None

    def holds(self, word, condition, in_chain=False):
        """True or False if the macros decide a condition, else None. In a chain that the macros have begun to decide, what
        has been defined so far decides on."""
        names = re.findall(r"\w+", condition.replace("defined", ""))
        if len(names) != 1 or not (in_chain or names[0] in self.macros):
            return None
        holds = self.macros.get(names[0], any(line.startswith(f"#define {names[0]}") for line in self.lines))
        return holds != (word == "ifndef" or condition.lstrip().startswith("!"))

    def include(self, name, beside, conditional):
        own = self.find(name, beside)
        if own is None and conditional is not None:
            self.lines.append(conditional)  # of one system, and stays where it is
        elif own is None:
            if name not in self.system:
                self.system.append(name)
        elif own in self.public:
            if self.public[own] not in self.headers:
                self.headers.append(self.public[own])
        else:
            self.add(own)

    def add(self, path):
        lines = read(path).split("\n")
        guard = guard_of(lines)
        if guard is not None and path in self.seen:
            return
        self.seen.add(path)
        if path.suffix == ".cpp":
            self.lines.append(f"// ---- {path.relative_to(ROOT).as_posix()}")
        opened = []  # of each #if: is it copied itself, are its lines, and was one of its branches
        for line in lines:
            copied = all(lines_are for _, lines_are, _ in opened)
            condition = CONDITION.match(line)
            if condition is None:
                included = INCLUDE.match(line)
                if copied and included is not None:
                    self.include(included.group(1), path.parent, line if any(kept for kept, _, _ in opened) else None)
                elif copied and line.strip() != "#pragma once":
                    self.lines.append(line)
                continue
            word, rest = condition.groups()
            if word == "endif":
                is_copied = opened.pop()[0]
            elif word in ("else", "elif"):
                is_copied, _, taken = opened[-1]
                if not is_copied:
                    holds = not taken and (word == "else" or self.holds(word, rest, in_chain=True) is True)
                    opened[-1] = (False, holds, taken or holds)
            else:
                is_guard = word == "ifndef" and rest.strip() == guard
                holds = True if is_guard or not copied else self.holds(word, rest)
                is_copied = holds is None
                opened.append((is_copied, holds is not False, holds is not False))
            if is_copied:
                self.lines.append(line)


def write(path, text, commit):
    licence = read(ROOT / "LICENSE").rstrip().split("\n")
    head = [f"{path.name} is vkrope {version()} in one file, made of commit {commit} by host/package/amalgamate.py.", "", *licence]
    text = re.sub(r"\n{3,}", "\n\n", "/* " + "\n * ".join(head) + " */\n\n" + text.strip("\n") + "\n")
    path.write_bytes(re.sub(r"[ \t]+\n", "\n", text).encode())


def shader_arrays(spirv):
    rows = re.findall(r"^ROPE_SHADER\((\w+), [^,]*, (\w+), (\w+),", read(ROOT / "shaders/list.def"), re.M)
    lines = []
    for name, family, needs in rows:
        if family != "ALWAYS":
            lines.append(f"#ifndef VKROPE_NO_{family}")
        words = [int(word, 0) for word in re.findall(r"0x[0-9a-fA-F]+|\d+", read(spirv / f"{name}.inc"))]
        lines.append(f"static const uint32_t {name}_words[] = {{")
        lines += [",".join(map(str, words[at:at + WORDS_IN_A_LINE])) + "," for at in range(0, len(words), WORDS_IN_A_LINE)]
        lines.append("};")
        lines.append(f'extern "C" const RopeShader rope_shader_{name} = {{"{name}", {name}_words, sizeof {name}_words, {needs}}};')
        if family != "ALWAYS":
            lines.append("#endif")
    return "\n".join(lines)


def write_source(path, amalgam, sources, commit, begin, end=""):
    for source in sources:
        amalgam.add((ROOT / source).resolve())
    headers = [f'#include "{name}"' for name in amalgam.headers] + [f"#include <{name}>" for name in sorted(amalgam.system)]
    write(path, begin + "\n".join(headers) + "\n\n" + "\n".join(amalgam.lines) + "\n" + end, commit)


NO_PROTOTYPES = """#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
"""
# The bits are promised under any flags: -ffast-math would reorder the sums of norms. Hardened builds define
# _GLIBCXX_ASSERTIONS, which would take libstdc++.
NO_FLAGS = """#undef _GLIBCXX_ASSERTIONS
#define _GLIBCXX_NO_ASSERTIONS
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(precise, on)
#elif defined(__GNUC__)
#pragma GCC optimize("no-fast-math")
#endif
#if defined(__i386__) && !defined(__SSE2_MATH__)
#error the x87 rounds to other precisions: compile vkrope.cpp with -msse2 -mfpmath=sse
#endif
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="is made where it is not there")
    parser.add_argument("--spirv", required=True, type=Path, metavar="FOLDER", help="what glslc has made: rotate_wide.inc and others")
    parser.add_argument("--commit", metavar="ID", help="is written into each file; without it git is asked")
    parser.add_argument("--core", required=True, nargs="+", metavar="FILE", help="the core's sources")
    parser.add_argument("--device", required=True, nargs="+", metavar="FILE", help="those of the device")
    given = parser.parse_args()
    if not (given.spirv / "rotate_wide.inc").is_file():
        fail(f"{given.spirv} has no rotate_wide.inc; give the folder that the target vkrope-spirv fills")
    for source in (*given.core, *given.device):
        if not (ROOT / source).is_file():
            fail(f"there is no {source}")
    given.commit = given.commit or commit()
    given.out.mkdir(parents=True, exist_ok=True)

    include = ROOT / "host/include/vkrope"
    cpp = {"__cplusplus": True, "ROPE_HLSL": False}
    headers = {"vkrope.h": ["rope.h"], "vkrope.hpp": ["rope.hpp"], "vkrope_device.hpp": ["loader.hpp", "device.hpp"]}
    public = {}
    for name, parts in headers.items():
        header = Amalgam({}, dict(public))
        guard = re.sub(r"\W", "_", name).upper()
        write_source(given.out / name, header, [f"host/include/vkrope/{part}" for part in parts], given.commit,
                     f"#ifndef {guard}\n#define {guard}\n", f"\n#endif /* {guard} */\n")
        public.update({(include / part).resolve(): name for part in parts})
    core = [source for source in given.core if source.endswith(".cpp")]
    write_source(given.out / "vkrope.cpp", Amalgam(cpp, public), core, given.commit, NO_FLAGS + NO_PROTOTYPES,
                 shader_arrays(given.spirv))
    write_source(given.out / "vkrope_device.cpp", Amalgam(cpp, public), given.device, given.commit, NO_PROTOTYPES)
    for name, source, is_hlsl in (("vkrope_rope.glsl", "rope.glsl", False), ("vkrope_rope.hlsl", "rope.hlsl", True)):
        shader = Amalgam({"__cplusplus": False, "ROPE_HLSL": is_hlsl})
        shader.add(ROOT / "shaders" / source)
        guard = re.sub(r"\W", "_", name).upper()
        write(given.out / name, f"#ifndef {guard}\n#define {guard}\n" + "\n".join(shader.lines) + "\n#endif\n", given.commit)
    meson = read(ROOT / "host/package/meson/meson.build").replace("@VERSION@", version())
    (given.out / "meson.build").write_bytes(meson.encode())


if __name__ == "__main__":
    main()
