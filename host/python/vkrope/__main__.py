"""python -m vkrope: rotations, tables and permuted weights of files, and pictures."""
import argparse
import os
import re
import signal
import sys
from typing import Any, Callable, Iterator, List, NoReturn, Optional, Sequence, Tuple

import numpy as np

from . import Device, Encoding, Failed, Refused, __version__, plot, read
from ._arrays import Positions
from ._files import Stored, Written, open_array, open_arrays, split_path, write_arrays
from ._weights import permutation

_PIECE = 1 << 26  # bytes that are rotated at once
_FORMATS = ["two-arrays", "duplicated", "split", "interleaved", "complex"]  # of rows
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
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--config", help="a model's config.json, as Hugging Face has it, or its .gguf")
    source.add_argument("--frequencies", help="your own frequencies: float64, radians per position, one per pair")
    parser.add_argument("--layer-type", default="", help="which layers, where a model's layers differ")
    parser.add_argument("--layer", type=int, help="one layer by its number, from 0 on")
    parser.add_argument("--length", type=float, default=0, help="the largest position so far plus 1, for rules that depend "
                                                                "on it; without it the largest of --positions plus 1")
    parser.add_argument("--rotary-dim", type=int, default=0, help="elements of the head that are rotated")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on cos and sin that goes with --frequencies")
    parser.add_argument("--positions", required=True, help="first:last, last excluded, or a file of [tokens], [batch, "
                                                           "tokens] or [axes, batch, tokens]")
    parser.add_argument("--angle", choices=["exact", "compatible"], default="exact",
                        help="compatible: the float32 product that PyTorch forms")
    parser.add_argument("--device", default="", help="a device's index or a part of its name; 'cpu' for the same bits "
                                                     "without a device; without it the best device there is")


def _encoding(options: argparse.Namespace, positions: Any) -> Encoding:
    if options.frequencies:
        return Encoding(open_array("--frequencies", options.frequencies).all(), scale=options.scale)
    wishes = dict(layer_type=options.layer_type, layer=options.layer, rotary_dim=options.rotary_dim)
    encoding = read(options.config, length=options.length, **wishes)
    # Pieces of the work have other largest positions. A shift's are distances, which ask for no length.
    if not options.length and not getattr(options, "shift", False):
        length = Positions(positions, encoding.axis_count).length
        encoding = read(options.config, length=length, **wishes) if length else encoding
    return encoding


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


def _pieces(x: np.ndarray, order: str, positions: Any, skips: bool) -> Iterator[Tuple[np.ndarray, Any]]:
    """x in pieces of heads or tokens of one sequence, as they lie in the file one after the other, with their positions."""
    sequences = x if "b" in order else x[None]
    for i, sequence in enumerate(sequences):
        own = positions
        if isinstance(own, np.ndarray) and own.ndim > 1 and own.shape[-2] == len(sequences):
            own = own[..., i:i + 1, :]
        step = max(_PIECE // max(sequence[0].nbytes, 1), 1)
        if skips and order.endswith("shd"):
            step = len(sequence)
        for first in range(0, len(sequence), step):
            part = own
            if order.endswith("shd") and step < len(sequence):
                part = own[first:first + step] if isinstance(own, range) else own[..., first:first + step]
            yield sequence[first:first + step], part


def _rotated(name: str, source: str, to: str, encoding: Encoding, device: Device, positions: Any,
             options: argparse.Namespace) -> Written:
    stored = open_array("--" + name, source)
    x, order = stored.all(), options.order or ("shd" if len(stored.shape) == 3 else "bshd")
    if x.ndim != len(order) or 0 in x.shape:
        raise Refused(f"--{name} has the shape {list(x.shape)}; in the order {order} it has {len(order)} axes, none of "
                      "them empty")
    tokens = x.shape[order.index("s")]
    place = Positions(positions, encoding.axis_count, x.shape[0] if "b" in order else 1, tokens,
                      max(tokens - encoding.skip_first - encoding.skip_last, 0))  # refuses what does not fit all of x
    element = "bf16" if stored.kind == "BF16" else options.element
    operation = next((word for word in ("transpose", "inverse", "shift") if getattr(options, word)), "forward")
    blocks = (device.rotate(encoding, part, own, order=order[-3:], element=element, pairing=options.pairing,
                            pairing_out=options.pairing_out, operation=operation, angle=options.angle)
              for part, own in _pieces(x, order, positions, place.tokens != tokens))
    return Written(f"--{name}-out", to, name, "BF16" if element else stored.kind, x.dtype, stored.shape, x.nbytes, blocks)


def _rotate(options: argparse.Namespace) -> None:
    if bool(options.k) != bool(options.k_out):
        raise Refused("--k and --k-out go together; one of them is missing")
    pairs = [("q", options.q, options.q_out)] + ([("k", options.k, options.k_out)] if options.k else [])
    positions = _positions(options.positions)
    encoding, device = _encoding(options, positions), Device(options.device)
    write_arrays([_rotated(*pair, encoding, device, positions, options) for pair in pairs], "rotating")
    _note("rotate", encoding.notes)


# ---- table -----------------------------------------------------------------------------------------------------------

def _add_table(parser: argparse.ArgumentParser) -> None:
    _add_encoding(parser)
    parser.add_argument("--cos", help="the file to write the cosines to, float32 [positions, pairs]")
    parser.add_argument("--sin", help="the file to write the sines to")
    parser.add_argument("--out", help="the file to write both to, in a format of one array")
    parser.add_argument("--format", choices=_FORMATS, default="two-arrays",
                        help="two-arrays, as in ONNX; duplicated: the same with each row twice side by side, as in Hugging "
                             "Face; one array: split, a row's cosines and then its sines, as in vLLM; interleaved, "
                             "[positions, pairs, 2]; complex, cos + i sin")


def _table(options: argparse.Namespace) -> None:
    two = options.format in ("two-arrays", "duplicated")
    if two and (not options.cos or not options.sin or options.out):
        raise Refused(f"--format {options.format} is two arrays; --cos and --sin name their files")
    if not two and (options.cos or options.sin or not options.out):
        raise Refused(f"--format {options.format} is one array; --out names its file")
    names = ["cos", "sin"] if two else ["out"]
    positions = _positions(options.positions)
    encoding = _encoding(options, positions)
    cos, sin = Device(options.device).table(encoding, positions, angle=options.angle, doubled=options.format == "duplicated")
    arrays = {"split": lambda: [np.concatenate([cos, sin], -1)], "interleaved": lambda: [np.stack([cos, sin], -1)],
              "complex": lambda: [cos + 1j * sin]}.get(options.format, lambda: [cos, sin])()
    write_arrays([Written(f"--{name}", getattr(options, name), name, "C64" if np.iscomplexobj(array) else "F32", array.dtype,
                          array.shape, array.nbytes, [array]) for name, array in zip(names, arrays)], "writing")
    _note("table", encoding.notes)
    print(f"{sum(array.nbytes for array in arrays)} bytes: cos and sin of {cos.size // cos.shape[-1]} positions and "
          f"{len(encoding.frequencies)} pairs in float32")


# ---- permute ---------------------------------------------------------------------------------------------------------

def _add_permute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=["half", "interleaved"], required=True, help="the pairing that the weights are wanted for")
    heads = parser.add_mutually_exclusive_group(required=True)
    heads.add_argument("--heads", type=int, default=0, help="heads in the first axis of the weights")
    heads.add_argument("--head-dim", type=int, default=0,
                       help="elements of a head, in place of --heads: right for Q and K together")
    parser.add_argument("--rotary-dim", type=int, default=0, help="rotated elements of each head; without it all")
    parser.add_argument("--rotary-offset", type=int, default=0, help="element of the head where the rotary part starts")
    parser.add_argument("weights", help="an array of any type, [heads * head_dim, ...]; a * in NAME takes all tensors whose "
                                        "names have any text there")
    parser.add_argument("-o", "--output", required=True,
                        help="the file to write; a .safetensors gets the permuted tensors by their names, and nothing else")


def _permuted(stored: Stored, options: argparse.Namespace) -> Written:
    shown = f"{split_path(options.weights)[0]}:{stored.name}" if stored.name else options.weights
    order = permutation(stored.shape, options.to, heads=options.heads, head_dim=options.head_dim,
                        rotary_dim=options.rotary_dim, rotary_begin=options.rotary_offset, name=shown)

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
             f"{options.heads or stored.shape[0] // options.head_dim} heads of "
             f"{options.head_dim or stored.shape[0] // options.heads}" for stored in found]
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
