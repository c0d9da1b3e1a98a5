import os
import struct

from program import expect_refusal, run, test

DECORATE, NAME, STRING, LINE, FUNCTION, MULTIPLY, ADD = 71, 5, 7, 8, 54, 133, 129
NO_CONTRACTION = 42


def text(letters):
    raw = letters.encode() + b"\0"
    raw += b"\0" * (-len(raw) % 4)
    return struct.unpack(f"<{len(raw) // 4}I", raw)


def write(path, *instructions):
    words = [0x07230203, 0x00010000, 0, 100, 0]
    for op, *operands in instructions:
        words += [(len(operands) + 1) << 16 | op, *operands]
    open(path, "wb").write(struct.pack(f"<{len(words)}I", *words))


FUSED = [(MULTIPLY, 1, 10, 2, 3), (ADD, 1, 11, 10, 4)]
APART = [(ADD, 1, 20, 2, 3), (ADD, 1, 21, 20, 4), (MULTIPLY, 1, 22, 21, 4)]


@test
def check_spirv_finds_what_a_driver_may_fuse():
    kept = [(DECORATE, id, NO_CONTRACTION) for id in (10, 11)]
    write("kept.spv", *kept, *FUSED)
    write("loose.spv", *FUSED)
    write("sums.spv", *APART)
    write("half.spv", kept[0], *FUSED)
    lines = [(STRING, 90, *text("shaders/numbers/pair.h")), (STRING, 91, *text("own.comp")), (NAME, 80, *text("turn(f1;")),
             (FUNCTION, 1, 80, 0, 2), (LINE, 90, 18, 0), *FUSED, (LINE, 91, 7, 0), (MULTIPLY, 1, 30, 2, 3),
             (ADD, 1, 31, 30, 4)]
    write("lines.spv", *lines)
    assert run("check-spirv", "kept.spv") == ("kept.spv: 2 float operations, 0 without NoContraction, 0 that count\n", "")
    counted = "loose.spv: 2 float operations, 2 without NoContraction, 1 that count\n  OpFMul %10\n"
    assert run("check-spirv", "loose.spv", status=1) == (counted, "")
    out, errors = run("check-spirv", "kept.spv", "loose.spv", "sums.spv", status=1)
    assert out.count("\n") == 4 and out.endswith("sums.spv: 3 float operations, 3 without NoContraction, 0 that count\n")
    assert errors == ""
    # A sum whose product is kept may still be reordered with other sums, which --all minds.
    assert run("check-spirv", "half.spv")[0].endswith("1 without NoContraction, 0 that count\n")
    assert run("check-spirv", "--all", "half.spv", status=1)[0].endswith("1 that count\n  OpFAdd %11\n")
    out = run("check-spirv", "--within", "pair.h", "lines.spv", status=1)[0]
    assert out.endswith("4 without NoContraction, 1 that count\n  OpFMul %10 in turn at shaders/numbers/pair.h:18\n"), out
    assert run("check-spirv", "--within", "turn", "--all", "lines.spv", status=1)[0].count("\n  ") == 4
    run("check-spirv", "--within", "angle.h", "lines.spv")

    open("odd.spv", "wb").write(b"\3\2\43\7\0")
    open("text.spv", "wb").write(b"#version 450\n\n\n\n")
    whole = open("loose.spv", "rb").read()
    open("cut.spv", "wb").write(whole[:-4])
    open("empty.spv", "wb").close()
    os.mkdir("folder")
    before = sorted(os.listdir("."))
    for what, arguments, sentence in [
        ("no file", [], "FILE is missing"),
        ("missing file", ["none.spv"], "none.spv: there is no such file"),
        ("folder", ["folder"], "folder: this is a folder"),
        ("odd size", ["odd.spv"], "odd.spv is no SPIR-V: it has 5 bytes"),
        ("text", ["text.spv"], "text.spv is no SPIR-V: it must begin with"),
        ("empty file", ["empty.spv"], "empty.spv is no SPIR-V"),
        ("cut file", ["cut.spv"], "cut.spv is no whole SPIR-V: the instruction at word 10 says it has 5 words, and 4 are left"),
        ("no lines", ["--within", "pair.h", "loose.spv"], "compile it with glslc -g"),
    ]:
        expect_refusal(what, ["check-spirv", *arguments], sentence, before)
