#!/usr/bin/env python3
"""Writes the structures of rope.h and rope_python.cpp as ctypes' own: layouts.py HOST PYTHON CHECK.

HOST is the folder host/. PYTHON becomes a module of the structures and enumerations that the package takes, and of those
that they are made of. CHECK, which rope_python.cpp includes, has the number of these layouts, and compiles only where the
compiler lays them out as ctypes does, or where VKROPE_CROSS says that it builds for another machine."""
import ctypes
import re
import sys
import zlib

NUMBERS = {"uint8_t": "c_uint8", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
           "uint64_t": "c_uint64", "float": "c_float", "double": "c_double", "char": "c_char"}

# The package calls functions of rope.h and rope_python.cpp with these.
TAKEN = ["RopePythonStatus", "RopePythonReason", "RopePythonRequest", "RopePythonSlot", "RopePlan", "RopeLimits", "RopeReason",
         "RopeResult", "RopeSlot"]
for kind in ("Table", "Rotate", "Fused", "Add", "Bias"):
    TAKEN += [f"Rope{kind}Description", f"RopeHost{kind}"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/|//[^\n]*", " ", file.read(), flags=re.S)


def bodies(text, kind):
    return dict((name, body) for name, body in re.findall(rf"typedef {kind} (\w+) \{{(.*?)\}} \1;", text, re.S))


class Headers:
    def __init__(self, folder):
        text = read(f"{folder}/include/vkrope/rope.h") + read(f"{folder}/python/rope_python.cpp")
        self.structs, self.enums = bodies(text, "struct"), bodies(text, "enum")
        self.numbers = dict(re.findall(r"#define (\w+) (\d+)u?\b", text))
        self.fields, self.used_enums = {}, []

    def type_of(self, name):
        if name in self.enums:
            if name not in self.used_enums:
                self.used_enums.append(name)
            return "ctypes.c_int"
        if name in self.structs:
            self.take(name)
            return name
        return "ctypes." + NUMBERS[name]  # another type is one that this script must learn

    def members(self, line):
        """const double* a; uint32_t a, b[3];"""
        name, pointer, rest = re.fullmatch(r"(?:const )?(\w+)\s*(\*?)\s*(.*)", line.strip()).groups()
        for member, count in re.findall(r"(\w+)(?:\[(\w+)\])?\s*(?:,|$)", rest):
            text = "ctypes.c_char_p" if name == "char" else "ctypes.c_void_p"
            kind = text if pointer else self.type_of(name)
            yield member, f"{kind} * {self.numbers.get(count, count)}" if count else kind

    def take(self, name):
        """Adds a structure behind those that it is made of."""
        if name not in self.fields:
            lines = [line for line in self.structs[name].split(";") if line.strip()]
            self.fields[name] = [pair for line in lines for pair in self.members(line)]

    def python(self):
        for name in TAKEN:
            self.type_of(name)
        version = ".".join(self.numbers["ROPE_VERSION_" + part] for part in ("MAJOR", "MINOR", "PATCH"))
        lines = [f'VERSION = "{version}"']
        for name in self.used_enums:
            lines += [f"{member} = {value}" for member, value in re.findall(r"(\w+)\s*=\s*(-?\d+)\b", self.enums[name])
                      if not member.endswith("_MAX_ENUM")]
        for name, fields in self.fields.items():
            lines += ["", "", f"class {name}(ctypes.Structure):", "    _fields_ = ["]
            lines += [f'        ("{member}", {kind}),' for member, kind in fields] + ["    ]"]
        text = "\n".join(["import ctypes", "", *lines, "", "", f"STRUCTURES = [{', '.join(self.fields)}]"])
        return f"{text}\nLAYOUTS = {zlib.crc32(text.encode())}\n"


def check_of(python):
    names = {}
    exec(python, names)
    yield f"ROPE_PYTHON_API uint32_t ropePythonLayouts() {{ return {names['LAYOUTS']}u; }}\n\n#ifndef VKROPE_CROSS"
    for struct in names["STRUCTURES"]:
        yield f'static_assert(sizeof({struct.__name__}) == {ctypes.sizeof(struct)}, "{struct.__name__}");'
        for member, *_ in struct._fields_:
            field = getattr(struct, member)
            yield (f'static_assert(offsetof({struct.__name__}, {member}) == {field.offset} && '
                   f'sizeof({struct.__name__}::{member}) == {field.size}, "{struct.__name__}::{member}");')
    yield "#endif"


def main():
    host, python_path, check_path = sys.argv[1:]
    layouts = Headers(host).python()
    for path, text in ((python_path, layouts), (check_path, "\n".join(check_of(layouts)) + "\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


main()
