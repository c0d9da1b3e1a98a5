#!/usr/bin/env python3
"""Shows what AMD's compiler makes of the rotation's wide build, for every family of GPUs that RADV's null device offers;
no GPU is needed.

    bench/amd.py PROGRAM [--families navi21,gfx1100] [--pairings half,interleaved] [--text "f16 in-place rows half 2"]
    bench/amd.py PROGRAM --every [--families navi21,gfx1100] [--text "fused-f16 fused_wide"]

PROGRAM is vkrope-amd. The output has one row for each element, place, source of cos and sin, pairing and number of
heads in flight, as the library's own plan makes the pipeline, with the cost of one head in the loop over the heads.
--text prints a pipeline's text instead. --every prints one row for each shader in plans typical of it, with the loads
and stores of its whole text; only spills and scratch fail then. The exit status is 1 where a register is spilled,
scratch memory is taken, or elements are not loaded and stored as wide as they can be; 77 where there is no RADV. The
column "ahead" counts the loads before the first wait."""
import argparse
import glob
import os
import re
import subprocess
import sys

FAMILIES = ("tahiti hawaii tonga polaris10 vega10 vega20 raven arcturus aldebaran navi10 navi14 navi21 navi23 vangogh "
            "gfx1036 gfx1100 gfx1102 gfx1103_r1").split()
WIDTHS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "b32": 1, "b64": 2, "b96": 3, "b128": 4}
MOVE = re.compile(r"(?:buffer|global)_(load|store)_(?:format_)?(\w+)")
COLUMNS = ("VGPR", "SGPR", "spill", "scratch", "waves", "code", "instr", "loop", "VALU", "loads", "stores", "ahead")
EVERY_COLUMNS = COLUMNS[:7]
LABEL_WIDTH = 38
EVERY_WIDTH = 52


def find_radv():
    found = glob.glob("/usr/share/vulkan/icd.d/radeon_icd.*.json") + glob.glob("/etc/vulkan/icd.d/radeon_icd.*.json")
    return found[0] if found else None


def compile_for(family, command, driver):
    environment = dict(os.environ, RADV_FORCE_FAMILY=family, VK_ICD_FILENAMES=driver, VK_DRIVER_FILES=driver)
    environment.pop("VK_INSTANCE_LAYERS", None)
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)


def parse(output):
    """A dictionary for each pipeline: its statistics, and the lines of its text."""
    pipelines, text = {}, False
    for line in output.splitlines():
        if line.startswith("pipeline "):
            pipeline = pipelines[line[len("pipeline "):]] = {"text": []}
        elif line.startswith("stat "):
            name, value = line[len("stat "):].split("\t")
            pipeline[name] = int(value)
        elif line.startswith("text "):
            text = "Assembly" in line
        elif line.startswith("\t") and text:
            pipeline["text"].append(line.split(";")[0].strip())
    return pipelines


def loop_of(text):
    """The instructions of the last loop; none where the driver could not disassemble."""
    labels, loop = {}, []
    for at, line in enumerate(text):
        if re.fullmatch(r"BB\d+:", line):
            labels[line[:-1]] = at
        branch = re.match(r"s_c?branch\S* (BB\d+)", line)
        if branch and branch.group(1) in labels:
            loop = text[labels[branch.group(1)]:at + 1]
    return [line for line in loop if line and not line.endswith(":")]


def widths(moves):
    return "+".join(f"{moves.count(width)}x{width or '½'}" for width in sorted(set(moves), reverse=True))


def measure_loop(pipeline):
    """Measures the loop: the cost of one head, the loads and stores, and how many loads come before the first wait."""
    loop = loop_of(pipeline["text"])
    loads, stores, ahead = [], [], None
    for line in loop:
        move = MOVE.match(line)
        if loads and ahead is None and (stores or "vmcnt" in line):
            ahead = len(loads)
        if move:
            (loads if move.group(1) == "load" else stores).append(WIDTHS.get(move.group(2), 0))
    heads = max(len(stores) // 2, 1)
    return {"loop": len(loop) / heads, "VALU": sum(line.startswith("v_") for line in loop) / heads,
            "loads": loads, "stores": stores, "ahead": ahead or 0, "known": bool(loop)}


def faults(pipeline, measured, element):
    wide = 4 if element == "f32" else 2
    found = []
    if pipeline["Spilled SGPRs"] or pipeline["Spilled VGPRs"]:
        found.append("spills")
    if pipeline["Scratch size"]:
        found.append("scratch")
    if measured["known"] and {*measured["loads"], *measured["stores"]} != {wide}:
        found.append("is not as wide as it can be")
    return found


def print_row(label, pipeline, measured, found):
    numbers = [pipeline["VGPRs"], pipeline["SGPRs"], pipeline["Spilled SGPRs"] + pipeline["Spilled VGPRs"],
               pipeline["Scratch size"], pipeline["Subgroups per SIMD"], pipeline["Code size"], pipeline["Instructions"]]
    if measured["known"]:
        numbers += [f"{measured['loop']:.1f}", f"{measured['VALU']:.1f}", widths(measured["loads"]),
                    widths(measured["stores"]), measured["ahead"]]
    print(f"{label:{LABEL_WIDTH}}", *(f"{number:>7}" for number in numbers), *found)


def show_every(pipelines, text):
    wrong = 0
    for label, pipeline in pipelines.items():
        if text is not None:
            if label.startswith(text):
                print("\n".join(pipeline["text"]))
            continue
        moves = [MOVE.match(line) for line in pipeline["text"]]
        loads, stores = ([WIDTHS.get(m.group(2), 0) for m in moves if m and m.group(1) == kind] for kind in ("load", "store"))
        found = faults(pipeline, {"known": False}, "f32")
        numbers = [pipeline["VGPRs"], pipeline["SGPRs"], pipeline["Spilled SGPRs"] + pipeline["Spilled VGPRs"],
                   pipeline["Scratch size"], pipeline["Subgroups per SIMD"], pipeline["Code size"], pipeline["Instructions"]]
        print(f"{label:{EVERY_WIDTH}}", *(f"{number:>7}" for number in numbers), f"{widths(loads) or '?':>16}",
              f"{widths(stores) or '?':>14}", *found)
        wrong += bool(found)
    return wrong


def show(pipelines, pairings, text):
    wrong = 0
    for label, pipeline in pipelines.items():
        element, _, _, pairing, _, shader = label.split()
        if text is not None:
            if label.startswith(text + " "):
                print("\n".join(pipeline["text"]))
            continue
        if pairing not in pairings:
            continue
        measured = measure_loop(pipeline)
        found = faults(pipeline, measured, element)
        if shader != "rotate_wide":
            found.append("is not the wide build")
        print_row(label.rsplit(" ", 1)[0], pipeline, measured, found)
        wrong += bool(found)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--pairings", default="half,interleaved")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--text")
    options = parser.parse_args()
    if not os.access(options.program, os.X_OK):
        sys.exit(f"amd.py: no program {options.program}; it is built with the benchmarks")
    driver = find_radv()
    if driver is None:
        print("amd.py: RADV is not installed (Debian: mesa-vulkan-drivers); skipped")
        sys.exit(77)
    wrong = compiled = 0
    for family in options.families.split(","):
        run = compile_for(family, [options.program] + ["--every"] * options.every, driver)
        if run.returncode != 0 or not run.stdout.endswith("end\n"):
            print(f"{family}: not offered by this RADV ({run.returncode} {run.stderr.strip()[-80:]})\n")
            continue
        compiled += 1
        if options.every:
            print(f"{family:{EVERY_WIDTH}}", *(f"{column:>7}" for column in EVERY_COLUMNS), f"{'loads':>16} {'stores':>14}")
            wrong += show_every(parse(run.stdout), options.text)
        else:
            print(f"{family:{LABEL_WIDTH}}", *(f"{column:>7}" for column in COLUMNS))
            wrong += show(parse(run.stdout), options.pairings.split(","), options.text)
        print()
    if compiled == 0:
        print("amd.py: this RADV has no null device; skipped")
        sys.exit(77)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
