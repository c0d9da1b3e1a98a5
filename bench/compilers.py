#!/usr/bin/env python3
"""Shows what a vendor's open compiler makes of the library's pipelines; no GPU is needed.

    bench/compilers.py PROGRAM ROOT VENDOR [--devices 164,174] [--stub FILE]
    bench/compilers.py PROGRAM ROOT VENDOR --pin
    bench/compilers.py PROGRAM ROOT VENDOR --list [--rotations]
    bench/compilers.py PROGRAM ROOT VENDOR --text "f16 in-place rows half 2" [--rotations]
    bench/compilers.py PROGRAM ROOT amd --rotations

PROGRAM is vkrope-compilers, ROOT a folder with Debian's unpacked packages of Mesa and its stubs of kernel drivers, which
tests/portability.sh downloads, VENDOR one of those below. intel takes a stub of the repository's own (--stub).

The output has a line for each device: ok or FAILED, the device, and its figures. A device fails where a figure is worse
than the one in compilers.pins, where no pipeline has what a figure is read from, and where the validation layer has a
message. The figures are: the number of pipelines; how many of them spill registers or take scratch memory, and how much;
the most registers and the fewest waves (or what the vendor counts in their place) that a pipeline has; what one head more
costs a thread, in instructions, of float32, bfloat16, float16, and float16 by the device's own conversion (in place, half
pairing, from a table); what making a pair's angle costs; and how many float operations are fused. Numbers of pipelines and
waves may not fall, all others may not rise.

--pin writes the figures to compilers.pins. --list prints a line for each pipeline. --text prints the compiler's text of
those whose name begins so. --rotations takes all rotations, and looks at those of AMD's compiler, whose text shows the order: a
load that stands behind the barrier, a store or a wait for another fails, and one that is not as wide as can be."""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True # the sources' folder stays as it is
import loads

PINS = Path(__file__).with_suffix(".pins")
FIGURES = ("pipelines", "spilling", "spills", "scratching", "scratch", "registers", "waves", "f32", "bf16", "f16", "native",
           "angle", "fused")
MAY_NOT_FALL = ("pipelines", "waves")


@dataclass
class Vendor:
    driver: str       # Mesa's name of the driver, in the name of its library
    stub: str         # the packaged stub of the kernel's driver; empty: one of our own
    variable: str     # of the environment: which device the stub is
    devices: dict     # its value, and what people call the device
    registers: str    # names of statistics
    waves: str
    unit: str         # what `waves` counts
    spills: tuple
    scratch: str
    instructions: str
    text: str         # the name of the text that shows fused operations; empty: all of the output
    fused: str        # such a line
    environment: dict = field(default_factory=dict)
    machine: str = "x86_64"
    shown: str = r"\S" # any line of that text

    @property
    def native(self):
        return self.machine == os.uname().machine


VENDORS = {
    "amd": Vendor(
        "radeon", "amdgpu", "AMDGPU_GPU_ID",
        dict.fromkeys("pitcairn bonaire polaris10 polaris12 stoney vega10 vega20 raven raven2 renoir navi10 navi21 vangogh "
                      "rembrandt navi31 navi33 phoenix strix1 gfx1201".split(), ""),
        "VGPRs", "Subgroups per SIMD", "waves a SIMD", ("Spilled SGPRs", "Spilled VGPRs"), "Scratch size", "Instructions",
        # v_fma_mix_f32 with an addend of -0 or a factor of 1 is a product or a sum of a float16, widened exactly. Kept are
        # 80 of a bias (a product with 65536, which is exact), 48 sums whose result the device's conversion narrows, and 12 of the
        # self-test.
        "Assembly", r"(v_(dual_)?fma(c|ak|mk)?|s_fma(c|ak|mk)|v_pk_fma)_(?!mix)|v_fma_mix(lo|hi)|"
        r"v_fma_mix_f32(?!.*(neg\(0\)|\b1\.0\b))"),
    "intel": Vendor(
        "intel", "", "VKROPE_INTEL_ID",
        {"1916": "Skylake", "8a52": "Ice Lake", "9a49": "Tiger Lake", "56a0": "Arc A770", "7d55": "Meteor Lake",
         "64a0": "Lunar Lake", "e20b": "Arc B580"},
        "Max live registers", "Max dispatch width", "lanes", ("Spills", "Fills"), "Scratch Memory Size", "Instructions",
        "GEN Assembly", r"^(\([^)]*\) *)?(mad|mac|madm|pln|lrp)\b.*:h?f\b"),
    "nvidia": Vendor(
        "nouveau", "nouveau", "NOUVEAU_CHIPSET",
        {"120": "Maxwell", "130": "Pascal", "140": "Volta", "164": "Turing", "174": "Ampere", "194": "Ada", "1b2": "Blackwell"},
        "Number of GPRs", "Max warps/SM", "warps an SM", ("Spills to memory", "Fills from memory"), "SLM size",
        "Instruction count", "NAK assembly", r"\b[fdh]+fma"),
    # mad.f32 rounds twice: what may be fused is seen before, in operations that are not exact
    "adreno": Vendor(
        "freedreno", "freedreno", "FD_GPU_ID", dict.fromkeys("618 630 660 730 740 750".split(), ""),
        "Registers used", "Max Waves Per Core", "waves a core", ("STP Count", "LDP Count"), "", "Instruction Count",
        "Final NIR", r" = (ffma|f(mul|add|sub|mad)\b(?!.*exact))"),
    "apple": Vendor(
        "asahi", "asahi", "VKROPE_APPLE", {"G13G": ""},
        "GPRs", "Threads", "threads", ("Spills", "Fills"), "Scratch", "Instructions",
        # kept are 32 of the driver's own integer divisions, and the sums that the device's conversion narrows: to r6h, r6l
        "", r"^ *[0-9a-f]+: [0-9a-f]+ +(ffma|f(add|mul) +\$?r[0-9]+[lh])", {"AGX_MESA_DEBUG": "shaders"},
        shown=r"^ *[0-9a-f]+: [0-9a-f]+ +\w"),
    # a product is an FMA with an addend of -0
    "mali": Vendor(
        "panfrost", "panfrost", "PAN_GPU_ID", {"a867": "G610", "ac74": "G310"},
        "Registers used", "Threads", "threads", ("Spills", "Fills"), "", "Instructions",
        "Assembly", r"FMA\.(?!.*0x0\.neg)", machine="aarch64"),
}


# ---- Running


def write_intel_tree(folder, device):
    """The files in which libdrm finds a PCI device."""
    pci = folder / "sys/dev/char/226:128/device"
    (pci / "drm").mkdir(parents=True)
    (folder / "dev/dri").mkdir(parents=True)
    (folder / "dev/dri/renderD128").touch()
    (pci / "subsystem").symlink_to("../../../../bus/pci")
    identity = {"vendor": 0x8086, "device": int(device, 16), "subsystem_vendor": 0x8086, "subsystem_device": 0, "revision": 0}
    for name, value in identity.items():
        (pci / name).write_text(f"{value:#06x}\n")
    (pci / "uevent").write_text("PCI_SLOT_NAME=0000:00:02.0\n")
    head = identity["vendor"].to_bytes(2, "little") + identity["device"].to_bytes(2, "little")
    (pci / "config").write_bytes(head.ljust(64, b"\0"))


def write_driver_file(folder, vendor, root, libraries):
    """The packaged driver's, with its library where that lies."""
    packaged = next((root / "usr/share/vulkan/icd.d").glob(f"{vendor.driver}_icd*.json"))
    driver = json.loads(packaged.read_text())
    driver["ICD"]["library_path"] = str(libraries / Path(driver["ICD"]["library_path"]).name)
    path = folder / "driver.json"
    path.write_text(json.dumps(driver))
    return str(path)


def run(options, vendor, device, what):
    root = options.root.resolve()
    libraries = root / f"usr/lib/{vendor.machine}-linux-gnu"
    stub = options.stub.resolve() if options.stub else libraries / f"lib{vendor.stub}_noop_drm_shim.so"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        driver = write_driver_file(folder, vendor, root, libraries)
        variables = {"VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver, "VK_LOADER_LAYERS_DISABLE": "~implicit~",
                     "VK_LAYER_PATH": str(root / "usr/share/vulkan/explicit_layer.d"), "MESA_SHADER_CACHE_DISABLE": "true",
                     vendor.variable: device, **vendor.environment}
        if vendor.driver == "intel":
            write_intel_tree(folder, device)
            variables["VKROPE_INTEL_ROOT"] = name
        if vendor.native:
            loader = libraries / f"ld-linux-{vendor.machine.replace('_', '-')}.so.2"
            command = [loader, "--preload", stub, "--library-path", libraries]
        else:
            command = [f"qemu-{vendor.machine}", "-L", root, "-E", f"LD_PRELOAD={stub}", "-E", f"LD_LIBRARY_PATH={libraries}"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("VK_")}
        return subprocess.run([*map(str, command), options.program, *what], capture_output=True, text=True, errors="replace",
                              env={**environment, **variables})


# ---- Reading


@dataclass
class Pipeline:
    name: str
    facts: dict = field(default_factory=dict)
    statistics: list = field(default_factory=list)  # of each executable a dictionary
    texts: dict = field(default_factory=dict)       # lines

    def largest(self, name):
        return max((one[name] for one in self.statistics if name in one), default=0)

    def smallest(self, name):
        return min((one[name] for one in self.statistics if name in one), default=0)


@dataclass
class Output:
    pipelines: dict = field(default_factory=dict)
    lacking: int = 0
    messages: list = field(default_factory=list)
    shown: bool = False
    fused: int = 0


def read(output, vendor):
    read_so_far, pipeline, text = Output(), None, None
    shown, fused = re.compile(vendor.shown), re.compile(vendor.fused)

    def look_at(line):
        read_so_far.shown |= shown.search(line) is not None
        read_so_far.fused += fused.search(line) is not None

    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if line.startswith("\t"):
            if text is not None:
                text.append(line[1:].strip())
                if counted:
                    look_at(text[-1])
        elif word == "pipeline":
            while rest in read_so_far.pipelines: # two plans of one name
                rest += "'"
            pipeline = read_so_far.pipelines[rest] = Pipeline(rest)
        elif word == "lacking":
            read_so_far.lacking += 1
        elif word == "executable":
            pipeline.statistics.append({})
        elif word in ("stat", "fact"):
            name, value = rest.split("\t")
            (pipeline.statistics[-1] if word == "stat" else pipeline.facts)[name] = int(float(value))
        elif word == "text":
            text, counted = pipeline.texts.setdefault(rest, []), rest == vendor.text
        elif word == "messages":
            read_so_far.messages.append(rest)
        elif vendor.text == "":
            look_at(line)
    return read_so_far


def missing(output, vendor):
    """The names that no pipeline has: their figures would be 0, and pass."""
    there = {name for pipeline in output.pipelines.values() for one in pipeline.statistics for name in one}
    named = filter(None, (vendor.registers, vendor.waves, *vendor.spills, vendor.scratch, vendor.instructions))
    found = [f"statistic '{name}'" for name in named if name not in there]
    return found if output.shown else found + [f"text '{vendor.text}'" if vendor.text else "listing of instructions"]


def rotation(pipelines, element, source, heads, conversion="plain"):
    return pipelines[f"{element} in-place {source} half {heads} {conversion} rotate_wide"]


def cost_of_head(pipelines, vendor, *case):
    one, two = (rotation(pipelines, *case[:2], heads, *case[2:]) for heads in (1, 2))
    return two.largest(vendor.instructions) - one.largest(vendor.instructions)


def cost_of_angle(pipelines, vendor):
    """Instructions a pair: what stands outside of the heads, inline, less the same from a table."""
    inline, table = (rotation(pipelines, "f32", source, 1).largest(vendor.instructions) -
                     cost_of_head(pipelines, vendor, "f32", source) for source in ("inline", "table"))
    return (inline - table) // rotation(pipelines, "f32", "inline", 1).facts["pairs"]


def spills_of(pipeline, vendor):
    return sum(sum(one.get(name, 0) for name in vendor.spills) for one in pipeline.statistics)


def scratch_of(pipeline, vendor):
    return pipeline.largest(vendor.scratch)


def figures_of(output, vendor):
    pipelines = output.pipelines.values()
    spills, scratch = ([of(pipeline, vendor) for pipeline in pipelines] for of in (spills_of, scratch_of))
    return {
        "pipelines": len(pipelines),
        "spilling": sum(number > 0 for number in spills),
        "spills": sum(spills),
        "scratching": sum(number > 0 for number in scratch),
        "scratch": max(scratch),
        "registers": max(pipeline.largest(vendor.registers) for pipeline in pipelines),
        "waves": min(pipeline.smallest(vendor.waves) for pipeline in pipelines),
        "f32": cost_of_head(output.pipelines, vendor, "f32", "table"),
        "bf16": cost_of_head(output.pipelines, vendor, "bf16", "table"),
        "f16": cost_of_head(output.pipelines, vendor, "f16", "table"),
        "native": cost_of_head(output.pipelines, vendor, "f16", "table", "native"),
        "angle": cost_of_angle(output.pipelines, vendor),
        "fused": output.fused,
    }


# ---- Pins


def read_pins():
    """The figures of each vendor and device."""
    lines = [line.split() for line in PINS.read_text().splitlines() if line and not line.startswith("#")] if PINS.exists() else []
    return {(line[0], line[1]): dict(zip(FIGURES, map(int, line[2:]))) for line in lines}


def write_pins(pins):
    width = [max(6, len(name) + 1) for name in FIGURES]
    head = "".join(f"{name:>{w}}" for name, w in zip(FIGURES, width))
    lines = ["# Figures that compilers.py holds each device to, and writes with --pin.", f"# {'':16}{head}"]
    for (vendor, device), figures in sorted(pins.items()):
        lines.append(f"{vendor:8} {device:9}" + "".join(f"{figures[name]:>{w}}" for name, w in zip(FIGURES, width)))
    PINS.write_text("\n".join(lines) + "\n")


def worse(figures, pinned):
    found = []
    for name in FIGURES:
        if pinned is not None and (figures[name] < pinned[name] if name in MAY_NOT_FALL else figures[name] > pinned[name]):
            found.append(f"{name} {figures[name]}, kept is {pinned[name]}")
    return found if pinned is not None else ["no figures are kept of this device: --pin"]


# ---- Printing


def number_and_worst(output, vendor, number, of, what):
    worst = max(output.pipelines.values(), key=lambda pipeline: of(pipeline, vendor))
    return f"{number} {what}" + (f" (most: {worst.name.rsplit(' ', 1)[0]}, {of(worst, vendor)})" if number else "")


def note_of(output, figures, vendor):
    pipelines = output.pipelines.values()
    most = max(pipelines, key=lambda pipeline: pipeline.largest(vendor.registers)).name.rsplit(" ", 1)[0]
    fewest = min(pipelines, key=lambda pipeline: pipeline.smallest(vendor.waves)).name.rsplit(" ", 1)[0]
    return "; ".join([
        f"{figures['pipelines']} pipelines" + (f", {output.lacking} lacking" if output.lacking else ""),
        number_and_worst(output, vendor, figures["spilling"], spills_of, "spill"),
        number_and_worst(output, vendor, figures["scratching"], scratch_of, "take scratch memory"),
        f"at most {figures['registers']} registers ({most}), at least {figures['waves']} {vendor.unit} ({fewest})",
        f"instructions of a head: {figures['f32']} float32, {figures['bf16']} bfloat16, {figures['f16']} float16, "
        f"{figures['native']} by the device's conversion",
        f"of an angle: {figures['angle']}",
        f"{figures['fused']} fused",
        *([] if vendor.native else ["without the validation layer"])])


def verdict(output, figures, vendor, pinned):
    found = worse(figures, pinned) + [f"message: {message}" for message in output.messages[:1]]
    note = note_of(output, figures, vendor)
    return (not found, "; ".join(found + [note]))


def show_list(output, vendor):
    for pipeline in output.pipelines.values():
        print(f"{pipeline.name:52} {pipeline.largest(vendor.registers):5} registers {pipeline.smallest(vendor.waves):5} {vendor.unit} "
              f"{spills_of(pipeline, vendor):5} spills {pipeline.largest(vendor.instructions):6} instructions")


def show_text(output, start):
    for pipeline in output.pipelines.values():
        if pipeline.name.startswith(start):
            for name, lines in pipeline.texts.items():
                print(f"{pipeline.name}: {name}", *lines, sep="\n")


def ask(options, vendor, device):
    """The device's name and output, or a sentence in place of the latter."""
    what = ["--rotations"] if options.rotations else ["--every", "--heads"]
    if vendor.native and not options.rotations:
        what.append("--validate") # by an emulator the layer would take longer than the compiler
    ended = run(options, vendor, device, what)
    if ended.returncode != 0 or not ended.stdout.endswith("end\n"):
        return device, f"ended with {ended.returncode}: {(ended.stderr.strip().splitlines() or ['without a word'])[-1]}"
    return device, read(ended.stdout, vendor)


def show(options, vendor, device, output, pins):
    """Whether all is well."""
    called = " ".join(filter(None, (device, vendor.devices.get(device, ""))))
    if isinstance(output, str):
        print(f"FAILED\t{called}\t{output}")
        return False
    if options.list:
        return show_list(output, vendor) is None
    if options.text is not None:
        return show_text(output, options.text) is None
    lost = missing(output, vendor)
    if lost:
        print(f"FAILED\t{called}\tno pipeline has the {' or the '.join(lost)}, as compilers.py names it")
        return False
    if options.rotations:
        return loads.show(called, output.pipelines, lambda pipeline: spills_of(pipeline, vendor) + scratch_of(pipeline, vendor))
    figures = figures_of(output, vendor)
    if options.pin:
        pins[options.vendor, device] = figures
    right, note = verdict(output, figures, vendor, pins.get((options.vendor, device)))
    print(f"{'ok' if right else 'FAILED'}\t{called}\t{note}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("root", type=Path)
    parser.add_argument("vendor", choices=VENDORS)
    parser.add_argument("--devices", help="some of the vendor's, with commas")
    parser.add_argument("--stub", type=Path)
    for flag in ("--pin", "--list", "--rotations"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--text")
    options = parser.parse_args()
    vendor = VENDORS[options.vendor]
    devices = options.devices.split(",") if options.devices else list(vendor.devices)
    unknown = [device for device in devices if device not in vendor.devices]
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no program {options.program}; the target vkrope-compilers makes it")
    if not any((options.root / "usr/share/vulkan/icd.d").glob(f"{vendor.driver}_icd*.json")):
        parser.error(f"{options.root} has no driver of {options.vendor}; it must be a folder with Debian's unpacked packages")
    if unknown:
        parser.error(f"{options.vendor} has no device {unknown[0]}; there are {', '.join(vendor.devices)}")
    pins = read_pins()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda device: ask(options, vendor, device), devices)
        right = [show(options, vendor, device, output, pins) for device, output in answers]
    if options.pin:
        write_pins(pins)
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
