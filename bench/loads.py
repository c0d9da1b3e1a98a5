"""The order and the width of loads and stores in the text of AMD's compiler, for compilers.py."""
import re

WIDTHS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "b32": 1, "b64": 2, "b96": 3, "b128": 4}
MOVE = re.compile(r"(?:.* = |)(?:buffer|global)_(load|store)_(?:format_)?(\w+)")  # in the compiler's IR a result stands first
ANY_ORDER = ("navi3", "phoenix", "strix", "gfx12")  # gfx11 and newer families


def moves_of(lines, kind):
    moves = [MOVE.match(line) for line in lines]
    return [WIDTHS.get(move.group(2), 0) for move in moves if move and move.group(1) == kind]


def measure(pipeline, device):
    """Measures loads and stores: how wide they are and, where the text is known, what the loads stand before."""
    text = [line.split(";")[0].strip() for line in pipeline.texts.get("Assembly", [])]
    known = any(line.startswith("s_endpgm") for line in text)
    lines = text if known else pipeline.texts.get("ACO IR", [])
    measured = {"loads": moves_of(lines, "load"), "stores": moves_of(lines, "store"), "known": known}
    ends = [at for at, line in enumerate(lines) if line.startswith("s_barrier")]
    measured["barrier"] = bool(ends)
    ends += [at for at, line in enumerate(lines) if (move := MOVE.match(line)) and move.group(1) == "store"]
    loads = [at for at, line in enumerate(lines) if (move := MOVE.match(line)) and move.group(1) == "load"]
    waits = [at for at, line in enumerate(lines) if ("vmcnt" in line or "loadcnt" in line) and loads and at > loads[0]]
    # from gfx11 on the branch of K waits for that of Q, whose registers it takes: loads return in any order
    if device.startswith(ANY_ORDER):
        waits = [at for at in waits if len([load for load in loads if load < at]) != pipeline.facts["runs"] // 2]
    measured["ahead"] = len([at for at in loads if at < min(ends, default=0)])
    measured["first"] = len([at for at in loads if at < min(waits, default=len(lines))])
    return measured


def faults(pipeline, measured):
    element, _, source, *_, shader = pipeline.name.split()
    runs, found = pipeline.facts["runs"], []
    if shader != "rotate_wide" or pipeline.facts["pairs"] != (4 if element == "f32" else 8):
        found.append("is not the wide build")
    if measured["loads"].count(4) < runs or {*measured["loads"], *measured["stores"]} != {4}:
        found.append("is not as wide as it can be")
    if len(measured["stores"]) != runs:
        found.append("stores other runs than it loads")
    if not measured["known"]:
        return found
    if pipeline.facts["shares"] and not measured["barrier"]:
        found.append("has no barrier")
    if measured["ahead"] != len(measured["loads"]):
        found.append("loads behind the " + ("barrier" if measured["barrier"] else "first store"))
    # a table's rows may come after what a token's position asks for
    if measured["first"] < (runs if source == "table" else len(measured["loads"])):
        found.append("loads behind a wait")
    return found


def show(called, pipelines, spills):
    """Prints a line for the device; whether there are rotations, and none has a fault."""
    if not pipelines:
        print(f"FAILED\t{called}\tthere are no rotations")
        return False
    found = {}
    for pipeline in pipelines.values():
        wrong = faults(pipeline, measure(pipeline, called)) + ["spills"] * (spills(pipeline) > 0)
        if wrong:
            found[pipeline.name] = wrong
    listed = any(measure(pipeline, called)["known"] for pipeline in pipelines.values())
    order = "every load before the barrier" if listed else "the order is not listed"
    worst = next((f": {name} {'; '.join(wrong)}" for name, wrong in found.items()), "")
    print(f"{'FAILED' if found else 'ok'}\t{called}\t{len(pipelines)} rotations, "
          f"{f'{len(found)} with faults{worst}' if found else f'all loads and stores of 16 bytes, {order}'}")
    return not found
