"""python -m vkrope: rotations, tables and permuted weights of files, and pictures."""
import argparse
import os
import re
import signal
import sys
from typing import Any, Callable, Iterator, List, NoReturn, Optional, Sequence, Tuple

import numpy as np

from . import Device, Encoding, Failed, Refused, __version__, plot, read
from ._files import Stored, Written, open_array, open_arrays, split_path, write_arrays
from ._weights import permutation

_FILES = ("Arrays are .npy; FILE.npz:NAME, FILE.safetensors:NAME and model.safetensors.index.json:NAME name one in a file "
          "of several. Outputs are .npy or FILE.safetensors:NAME.")


class _Parser(argparse.ArgumentParser):
    """Bad words are one sentence, as every refusal."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; --help says more", file=sys.stderr)
        sys.exit(2)


def _note(command: str, lines: Sequence[str]) -> None:
    for line in lines:
        print(f"vkrope {command}: {line}", file=sys.stderr)


# ---- Options ---------------------------------------------------------------------------------------------------------

def _add_encoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a model's config.json, as Hugging Face has it, or its .gguf")
    parser.add_argument("--layer-type", default="", help="which layers, where a model's layers differ")
    parser.add_argument("--layer", type=int, help="one layer by its number, from 0 on")
    parser.add_argument("--length", type=float, default=0, help="the largest position so far plus 1, for rules that depend "
                                                                "on it; without it the largest of --positions plus 1")
    parser.add_argument("--rotary-dim", type=int, default=0, help="elements of the head that are rotated")
    parser.add_argument("--positions", required=True, help="first:last, last excluded, or a file of [tokens], [batch, "
                                                           "tokens] or [axes, batch, tokens]")
    parser.add_argument("--angle", choices=["exact", "compatible"], default="exact",
                        help="compatible: the float32 product that PyTorch forms")
    parser.add_argument("--device", default="", help="a device's index or a part of its name; 'cpu' for the same bits "
                                                     "without a device; without it the best device there is")


def _encoding(options: argparse.Namespace) -> Encoding:
    return read(options.config, layer_type=options.layer_type, layer=options.layer, length=options.length,
                rotary_dim=options.rotary_dim)


def _positions(text: str) -> Any:
    found = re.fullmatch(r"([-+]?\d{1,10}):([-+]?\d{1,10})", text)
    if not found:
        return open_array("--positions", text).all()
    first, last = int(found.group(1)), int(found.group(2))
    if last <= first:
        raise Refused(f"--positions {text} is empty; the last is excluded and must be above the first")
    return range(first, last)


# ---- rotate ----------------------------------------------------------------------------------------------------------

def _add_rotate(parser: argparse.ArgumentParser) -> None:
    _add_encoding(parser)
    parser.add_argument("--q", required=True, help="an array in the order of --order")
    parser.add_argument("--q-out", required=True, help="the file to write, of the same shape")
    parser.add_argument("--k", help="K beside Q, with heads of its own")
    parser.add_argument("--k-out", help="the file to write")
    parser.add_argument("--order", choices=["bshd", "bhsd", "shd", "hsd"],
                        help="the axes: batch, seq, heads, dim; without it bshd, and shd if there are three")
    for name in ("--pairing", "--pairing-out"):
        parser.add_argument(name, choices=["half", "interleaved"], help="without it the model's")
    parser.add_argument("--element", choices=["bf16"], help="uint16 in an .npy holds bfloat16")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--transpose", action="store_true", help="turn back, keeping the scale: the gradient")
    way.add_argument("--inverse", action="store_true", help="turn back and undo the scale")
    way.add_argument("--shift", action="store_true", help="turn rotated elements once more, by a delta, without scale")


def _rotated(name: str, source: str, to: str, encoding: Encoding, device: Device, positions: Any,
             options: argparse.Namespace) -> Written:
    stored = open_array("--" + name, source)
    x, order = stored.all(), options.order or ("shd" if len(stored.shape) == 3 else "bshd")
    element = "bf16" if stored.kind == "BF16" else options.element
    operation = next((word for word in ("transpose", "inverse", "shift") if getattr(options, word)), "forward")
    out = device.rotate(encoding, x, positions, order=order, element=element, pairing=options.pairing,
                        pairing_out=options.pairing_out, operation=operation, angle=options.angle)
    return Written(f"--{name}-out", to, name, "BF16" if element else stored.kind, x.dtype, stored.shape, x.nbytes, [out])


def _rotate(options: argparse.Namespace) -> None:
    if bool(options.k) != bool(options.k_out):
        raise Refused("--k and --k-out go together; one of them is missing")
    pairs = [("q", options.q, options.q_out)] + ([("k", options.k, options.k_out)] if options.k else [])
    positions = _positions(options.positions)
    encoding, device = _encoding(options), Device(options.device)
    write_arrays([_rotated(*pair, encoding, device, positions, options) for pair in pairs], "rotating")
    _note("rotate", encoding.notes)


# ---- table -----------------------------------------------------------------------------------------------------------

def _add_table(parser: argparse.ArgumentParser) -> None:
    _add_encoding(parser)
    parser.add_argument("--cos", required=True, help="the file to write the cosines to, float32 [positions, pairs]")
    parser.add_argument("--sin", required=True, help="the file to write the sines to")


def _table(options: argparse.Namespace) -> None:
    encoding = _encoding(options)
    arrays = Device(options.device).table(encoding, _positions(options.positions), angle=options.angle)
    write_arrays([Written(f"--{name}", getattr(options, name), name, "F32", array.dtype, array.shape, array.nbytes, [array])
                  for name, array in zip(("cos", "sin"), arrays)], "writing")
    _note("table", encoding.notes)


# ---- permute ---------------------------------------------------------------------------------------------------------

def _add_permute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=["half", "interleaved"], required=True, help="the pairing that the weights are wanted for")
    parser.add_argument("--head-dim", type=int, required=True, help="elements of a head")
    parser.add_argument("--rotary-dim", type=int, default=0, help="rotated elements of each head; without it all")
    parser.add_argument("--rotary-offset", type=int, default=0, help="element of the head where the rotary part starts")
    parser.add_argument("weights", help="an array of any type, [heads * head_dim, ...]; a * in NAME takes all tensors whose "
                                        "names have any text there")
    parser.add_argument("-o", "--output", required=True,
                        help="the file to write; a .safetensors gets the permuted tensors by their names, and nothing else")


def _permuted(stored: Stored, options: argparse.Namespace) -> Written:
    shown = f"{split_path(options.weights)[0]}:{stored.name}" if stored.name else options.weights
    order = permutation(stored.shape, options.to, options.head_dim, rotary_dim=options.rotary_dim,
                        rotary_begin=options.rotary_offset, name=shown)

    def blocks() -> Iterator[np.ndarray]:
        for rows in stored.blocks(len(order)):
            by_head = rows.reshape(-1, len(order), *rows.shape[1:])
            yield np.take(by_head, order, axis=1)

    first = stored.load(0, 0)
    return Written("--output", options.output, stored.name or "weights", stored.kind, first.dtype, stored.shape,
                   stored.shape[0] * stored.row_bytes, blocks(), stored.metadata)


def _permute(options: argparse.Namespace) -> None:
    found = open_arrays("the input", options.weights)
    path, name = split_path(options.output)
    if len(found) > 1 and (path.endswith(".npy") or name):
        raise Refused(f"{options.weights} names {len(found)} tensors and --output {options.output} takes one; a "
                      "FILE.safetensors without :NAME takes all")
    results = [_permuted(stored, options) for stored in found]
    lines = [f"{split_path(options.weights)[0]}{':' if stored.name else ''}{stored.name}: {list(stored.shape)}, "
             f"{stored.shape[0] // options.head_dim} heads of {options.head_dim}" for stored in found]
    write_arrays(results, "permuting")
    print("\n".join(lines))


# ---- plot ------------------------------------------------------------------------------------------------------------

def _add_plot(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    out = _Parser(add_help=False)
    out.add_argument("-o", "--out", required=True, help="the .svg, .png or .pdf to write")
    for kind, text in (("accuracy", "the worst error of cos and sin over the position, beside a framework's float32 angles"),
                       ("frequencies", "each pair's wavelength")):
        one = kinds.add_parser(kind, help=text, description=text, parents=[out])
        one.add_argument("--config", action="append", required=True,
                         help="a model's config.json or .gguf; again for more models in one picture")
        one.add_argument("--layer-type", default="", help="which layers, where a model's layers differ")
    text = "bytes per second over bytes, with the fastest copy as the roof"
    one = kinds.add_parser("bandwidth", help=text, description=text, parents=[out])
    one.add_argument("reports", nargs="+", metavar="REPORT.json", help="what vkrope bench --json prints")
    text = "the error of each cache format, with and without Hadamard blocks"
    one = kinds.add_parser("caches", help=text, description=text, parents=[out])
    one.add_argument("--k", required=True, help="keys: [batch, seq, heads, dim] or [seq, heads, dim]")
    one.add_argument("--order", choices=["bshd", "bhsd", "shd", "hsd"], help="the axes of other keys")
    one.add_argument("--config", help="a model's config.json or .gguf, by which the keys turn first, from position 0 on")
    one.add_argument("--element", choices=["bf16"], help="uint16 in an .npy holds bfloat16")
    one.add_argument("--device", default="cpu", help="the device that writes the caches; without it cpu")


def _plot(options: argparse.Namespace) -> None:
    if not options.out.endswith((".svg", ".png", ".pdf")):
        raise Refused(f"--out is {options.out}; a picture is written to .svg, .png or .pdf")
    if options.kind == "bandwidth":
        figure = plot.bandwidth(options.reports)
    elif options.kind == "caches":
        stored = open_array("--k", options.k)
        figure = plot.caches(stored.all(), order=options.order, encoding=read(options.config) if options.config else None,
                             element="bf16" if stored.kind == "BF16" else options.element, device=Device(options.device))
    else:
        models = {}
        for path in options.config:
            encoding = read(path, layer_type=options.layer_type)
            name = os.path.basename(os.path.dirname(path)) if os.path.basename(path) == "config.json" else ""
            models[f"{name or os.path.basename(path)} ({encoding.rule})"] = encoding
            _note(f"plot: {path}", encoding.notes)
        figure = {"accuracy": plot.accuracy, "frequencies": plot.frequencies}[options.kind](models)
    plot.save(figure, options.out)


# ---- The program -----------------------------------------------------------------------------------------------------

_COMMANDS: List[Tuple[str, str, Callable[[Any], None], Callable[[Any], None]]] = [
    ("rotate", "rotates Q and K", _add_rotate, _rotate),
    ("table", "makes the cos and sin of every position and pair", _add_table, _table),
    ("permute", "permutes weights made for one pairing to the other", _add_permute, _permute),
    ("plot", "draws errors, frequencies, bandwidth and cache formats", _add_plot, _plot),
]


def _stop(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = _Parser(prog="vkrope", description="Position encodings of transformer models, for files.", epilog=_FILES)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text, add, run in _COMMANDS:
        command = commands.add_parser(name, help=text, description=f"vkrope {name} {text}.", epilog=_FILES)
        add(command)
        command.set_defaults(run=run)
    words = list(sys.argv[1:] if arguments is None else arguments)
    for at in range(len(words) - 1, 0, -1):  # a range may begin with a minus, as an option does
        if words[at - 1] == "--positions":
            words[at - 1:at + 1] = ["--positions=" + words[at]]
    options = parser.parse_args(words)
    signal.signal(signal.SIGTERM, _stop)  # so that nothing half written stays
    try:
        options.run(options)
        sys.stdout.flush()
        return 0
    except Refused as error:
        status, sentence = 2, str(error)
    except OSError as error:
        status, sentence = 2, f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except Failed as error:
        status, sentence = 1, str(error)
    except MemoryError:
        status, sentence = 1, "this takes more memory than there is"
    except KeyboardInterrupt:
        return 130
    print(f"vkrope {options.command}: {sentence}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
