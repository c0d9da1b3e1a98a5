#!/usr/bin/env python3
"""Shows what AMD's compiler makes of the rotation's wide build, for every family of GPUs that RADV's null device offers;
no GPU is needed.

    bench/amd.py PROGRAM [--families navi21,gfx1100] [--pairings half,interleaved] [--text "f16 in-place rows half 2"]
    bench/amd.py PROGRAM [--families navi21,gfx1100] --markdown
    bench/amd.py PROGRAM --every [--families navi21,gfx1100] [--text "fused-f16 fused_wide"]

PROGRAM is vkrope-amd. The output has one row for each element, place, source of cos and sin, pairing, number of heads of
a thread, and conversion of float16: the library's own (plain) or the device's (native). The library's own plan makes the
pipeline. The columns count the whole text, in which Q and K are loaded and stored apart. The column "head" has the
instructions of one head more: those with two heads less those with one. The column "loads" has all vector loads by their
width, as 5x4 for five of four words. The column "ahead" has the loads that stand before the group's barrier or, where
there is none, before the first store. The column "first" has those before the first wait for one of them.

--text prints a pipeline's text instead. --markdown prints a table of float16 beside float32. --every prints one row for
each shader in plans typical of it; only spills and scratch fail then. The exit status is 1 where a register is spilled,
scratch memory is taken, elements are not loaded and stored as wide as they can be, or a load stands behind the barrier,
a store or a wait for another; 77 where there is no RADV. A family whose text the driver cannot disassemble has "?" for
the order."""
import argparse
import glob
import os
import re
import subprocess
import sys

FAMILIES = ("tahiti hawaii tonga polaris10 vega10 vega20 raven arcturus aldebaran navi10 navi14 navi21 navi23 vangogh "
            "gfx1036 gfx1100 gfx1102 gfx1103_r1").split()
WIDTHS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "b32": 1, "b64": 2, "b96": 3, "b128": 4}
MOVE = re.compile(r"(?:.* = |)(?:buffer|global)_(load|store)_(?:format_)?(\w+)")  # in the compiler's IR a result stands first
COLUMNS = ("VGPR", "SGPR", "spill", "scratch", "waves", "code", "instr")
ROTATION_COLUMNS = ("head", "loads", "stores", "ahead", "first")
LABEL_WIDTH = 46
EVERY_WIDTH = 52


def find_radv():
    found = glob.glob("/usr/share/vulkan/icd.d/radeon_icd.*.json") + glob.glob("/etc/vulkan/icd.d/radeon_icd.*.json")
    return found[0] if found else None


def compile_for(family, command, driver):
    environment = dict(os.environ, RADV_FORCE_FAMILY=family, VK_ICD_FILENAMES=driver, VK_DRIVER_FILES=driver)
    environment.pop("VK_INSTANCE_LAYERS", None)
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)


def parse(output):
    """A dictionary for each pipeline: its facts and statistics, the lines of its text, and those of the compiler's IR."""
    pipelines, text = {}, None
    for line in output.splitlines():
        if line.startswith("pipeline "):
            pipeline = pipelines[line[len("pipeline "):]] = {"text": [], "ir": []}
        elif line.startswith(("stat ", "fact ")):
            name, value = line[len("stat "):].split("\t")
            pipeline[name] = int(value)
        elif line.startswith("text "):
            text = pipeline["text" if "Assembly" in line else "ir"] if "Assembly" in line or "ACO IR" in line else None
        elif line.startswith("\t") and text is not None:
            text.append(line.split(";")[0].strip())
    for pipeline in pipelines.values():
        pipeline["known"] = any(line.startswith("s_endpgm") for line in pipeline["text"])
    return pipelines


def widths(moves):
    return "+".join(f"{moves.count(width)}x{width or '½'}" for width in sorted(set(moves), reverse=True))


def moves_of(lines, kind):
    moves = [MOVE.match(line) for line in lines]
    return [WIDTHS.get(move.group(2), 0) for move in moves if move and move.group(1) == kind]


def measure(pipeline):
    """Measures loads and stores: how wide they are and, where the text is known, what the loads stand before."""
    lines = pipeline["text"] if pipeline["known"] else pipeline["ir"]
    measured = {"loads": moves_of(lines, "load"), "stores": moves_of(lines, "store"), "ahead": None, "first": None}
    if not pipeline["known"]:
        return measured
    ends = [at for at, line in enumerate(lines) if line.startswith("s_barrier")]
    ends += [at for at, line in enumerate(lines) if (move := MOVE.match(line)) and move.group(1) == "store"]
    loads = [at for at, line in enumerate(lines) if (move := MOVE.match(line)) and move.group(1) == "load"]
    waits = [at for at, line in enumerate(lines) if "vmcnt" in line and loads and at > loads[0]]
    measured["ahead"] = len([at for at in loads if at < min(ends, default=0)])
    measured["first"] = len([at for at in loads if at < min(waits, default=len(lines))])
    measured["barrier"] = any(line.startswith("s_barrier") for line in lines)
    return measured


def spill_faults(pipeline):
    found = []
    if pipeline["Spilled SGPRs"] or pipeline["Spilled VGPRs"]:
        found.append("spills")
    if pipeline["Scratch size"]:
        found.append("scratch")
    return found


def faults(pipeline, measured, element, source, shader):
    found = spill_faults(pipeline)
    if shader != "rotate_wide" or pipeline["pairs"] != (4 if element == "f32" else 8):
        found.append("is not the wide build")
    if measured["loads"].count(4) < pipeline["runs"] or {*measured["loads"], *measured["stores"]} != {4}:
        found.append("is not as wide as it can be")
    if len(measured["stores"]) != pipeline["runs"]:
        found.append("stores other runs than it loads")
    if measured["ahead"] is not None:
        if pipeline["shares"] and not measured["barrier"]:
            found.append("has no barrier")
        if measured["ahead"] != len(measured["loads"]):
            found.append("loads behind the " + ("barrier" if measured["barrier"] else "first store"))
        # a table's rows may come after what a token's position asks for
        if measured["first"] < (pipeline["runs"] if source == "table" else len(measured["loads"])):
            found.append("loads behind a wait")
    return found


def common_numbers(pipeline):
    return [pipeline["VGPRs"], pipeline["SGPRs"], pipeline["Spilled SGPRs"] + pipeline["Spilled VGPRs"],
            pipeline["Scratch size"], pipeline["Subgroups per SIMD"], pipeline["Code size"], pipeline["Instructions"]]


def print_cells(label, width, numbers):
    print(f"{label:{width}}", *(f"{'?' if number is None else number:>7}" for number in numbers), end="")


def show_every(family, pipelines, text):
    wrong = 0
    if text is None:
        print_cells(family, EVERY_WIDTH, COLUMNS)
        print(f" {'loads':>16} {'stores':>14}")
    for label, pipeline in pipelines.items():
        if text is not None:
            if label.startswith(text):
                print("\n".join(pipeline["text"]))
            continue
        loads, stores = (widths(moves_of(pipeline["text"], kind)) or "?" for kind in ("load", "store"))
        found = spill_faults(pipeline)
        print_cells(label, EVERY_WIDTH, common_numbers(pipeline))
        print(f" {loads:>16} {stores:>14} {'; '.join(found)}".rstrip())
        wrong += bool(found)
    return wrong


def of_heads(pipelines, label, heads):
    """The pipeline that differs from that of the label in its heads."""
    words = label.split()
    return pipelines[" ".join([*words[:4], str(heads), *words[5:]])]


def cost_of_head(pipelines, label):
    return of_heads(pipelines, label, 2)["Instructions"] - of_heads(pipelines, label, 1)["Instructions"]


def show(family, pipelines, pairings, text):
    wrong = 0
    if text is None:
        print_cells(family, LABEL_WIDTH, COLUMNS + ROTATION_COLUMNS)
        print()
    for label, pipeline in pipelines.items():
        element, _, source, pairing, _, _, shader = label.split()
        if text is not None:
            if label.startswith(text + " "):
                print("\n".join(pipeline["text"]))
            continue
        if pairing not in pairings:
            continue
        measured = measure(pipeline)
        found = faults(pipeline, measured, element, source, shader)
        numbers = common_numbers(pipeline) + [cost_of_head(pipelines, label), widths(measured["loads"]),
                                              widths(measured["stores"]), measured["ahead"], measured["first"]]
        print_cells(label.rsplit(" ", 1)[0], LABEL_WIDTH, numbers)
        print(f" {'; '.join(found)}".rstrip())
        wrong += bool(found)
    return wrong


def show_ratios(family, pipelines, pairings):
    """Prints a line for each number of heads: a lane of float16 has twice the pairs of one of float32, in as many bytes."""
    for pairing in pairings:
        for place in ("in-place", "out-of-place"):
            for heads in (1, 2, 4):
                cells = []
                for source in ("rows", "inline"):
                    def label(element, conversion):
                        return f"{element} {place} {source} {pairing} {heads} {conversion} rotate_wide"
                    floats = pipelines[label("f32", "plain")]["Instructions"]
                    head = cost_of_head(pipelines, label("f32", "plain"))
                    for element, conversion in (("f16", "native"), ("f16", "plain"), ("bf16", "plain")):
                        one = pipelines[label(element, conversion)]
                        cells.append(f"{one['Instructions']} ({one['Instructions'] / floats:.2f}; "
                                     f"{cost_of_head(pipelines, label(element, conversion)) / head:.2f})")
                    cells.insert(-3, str(floats))
                print(f"| {family} | {place} {pairing} | {heads} |", " | ".join(cells), "|")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--pairings", default="half,interleaved")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--text")
    options = parser.parse_args()
    if not os.access(options.program, os.X_OK):
        sys.exit(f"amd.py: no program {options.program}; it is built with the benchmarks")
    driver = find_radv()
    if driver is None:
        print("amd.py: RADV is not installed (Debian: mesa-vulkan-drivers); skipped")
        sys.exit(77)
    if options.markdown:
        names = ["f32", "f16 native", "f16 plain", "bf16"]
        print("Instructions of the whole text (to float32's; one head more to one more of float32)\n")
        print("| family | case | heads |", " | ".join(f"{s}, {n}" for s in ("rows", "inline") for n in names), "|")
        print("|---" * 11 + "|")
    wrong = compiled = 0
    for family in options.families.split(","):
        run = compile_for(family, [options.program] + ["--every"] * options.every, driver)
        if run.returncode != 0 or not run.stdout.endswith("end\n"):
            print(f"{family}: not offered by this RADV ({run.returncode} {run.stderr.strip()[-80:]})\n", file=sys.stderr)
            continue
        compiled += 1
        pipelines = parse(run.stdout)
        if options.every:
            wrong += show_every(family, pipelines, options.text)
        elif options.markdown:
            wrong += show_ratios(family, pipelines, options.pairings.split(","))
        else:
            wrong += show(family, pipelines, options.pairings.split(","), options.text)
        if not options.markdown:
            print()
    if compiled == 0:
        print("amd.py: this RADV has no null device; skipped")
        sys.exit(77)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
