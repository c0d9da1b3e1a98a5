"""Pictures, by matplotlib: each function gives a figure, and `save` writes it."""
import json
import math
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ._arrays import as_float32, tensor
from ._caches import FORMATS, dequantize
from ._device import Device
from ._encoding import Encoding
from ._files import optional, replacing
from ._library import Refused

# Most eyes tell these apart, also those that see colours otherwise.
_COLOURS = ["#3b7dd8", "#d9822b", "#2e9e63", "#c2477f", "#8a63d2", "#12a0a8", "#b8433a", "#8a8a3a"]
_GREY = "#59636e"
_STYLE = {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "vkrope", "axes.edgecolor": _GREY,
          "axes.labelcolor": "#1f2328", "grid.color": "#d8dee4", "axes.grid": True, "axes.axisbelow": True,
          "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.8, "legend.frameon": False}


def _figure(title: str, x_label: str, y_label: str) -> Tuple[Any, Any]:
    matplotlib = optional("matplotlib", "plot")
    figure_of = optional("matplotlib.figure", "plot").Figure
    with matplotlib.rc_context(_STYLE):
        figure = figure_of(figsize=(7.6, 4.8), layout="constrained")
        axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def _legend(figure: Any, columns: int = 2) -> None:
    """Below the picture, where it hides no line."""
    figure.legend(loc="outside lower center", ncols=columns, frameon=False)


def save(figure: Any, path: str) -> None:
    """Writes a figure whole, or nothing. The same figure gives the same bytes."""
    matplotlib = optional("matplotlib", "plot")
    form = os.path.splitext(path)[1][1:]
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with matplotlib.rc_context(_STYLE), replacing(path) as file:
        figure.savefig(file, format=form, metadata=metadata, dpi=150)


# ---- Accuracy --------------------------------------------------------------------------------------------------------

_BITS = 256
_TWO_PI = 0x6487ed5110b4611a62633145c06e0e68948127044533e63a0105df531d89cd912  # in 2^-256ths


def _true_cos_sin(position: int, frequency: float) -> Tuple[float, float]:
    """The angle is reduced in whole numbers, and exact until then."""
    numerator, denominator = float(frequency).as_integer_ratio()
    angle = ((position * numerator << _BITS) // denominator % _TWO_PI) / (1 << _BITS)
    return math.cos(angle), math.sin(angle)


def accuracy(models: Mapping[str, Encoding], device: Optional[Device] = None) -> Any:
    """The worst error of cos and sin over all pairs, at each power of two that of the 32 positions before it. Beside it
    stand the cosines of a framework that multiplies position and frequency in float32."""
    figure, axes = _figure("Worst error of cos and sin", "position", "absolute error")
    ends = [2**power for power in range(1, 31)]
    positions = np.unique(np.concatenate([np.arange(max(end - 32, 0), end) for end in ends]))
    for i, (name, encoding) in enumerate(models.items()):
        turning = encoding.frequencies[encoding.frequencies != 0]
        fixed = Encoding(turning, scale=encoding.scale)
        truth = encoding.scale * np.array([[_true_cos_sin(int(p), f) for f in turning] for p in positions])
        ours = np.stack((device or Device("cpu")).table(fixed, positions), -1)
        angles = positions.astype(np.float32)[:, None] * turning.astype(np.float32)
        theirs = np.float32(encoding.scale) * np.stack([np.cos(angles), np.sin(angles)], -1)
        for values, label, style in ((ours, "vkrope", "-"), (theirs, "float32 angles", "--")):
            worst = np.abs(values - truth).max((1, 2))
            near = [worst[(positions >= end - 32) & (positions < end)].max() for end in ends]
            axes.plot(ends, near, style, color=_COLOURS[i % len(_COLOURS)], label=f"{name}, {label}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(2.0 ** np.arange(0, 31, 5))
    _legend(figure)
    return figure


# ---- Frequencies -----------------------------------------------------------------------------------------------------

def frequencies(models: Mapping[str, Encoding]) -> Any:
    """The ladder of each model: how many positions each pair takes for a turn."""
    figure, axes = _figure("Frequency ladder", "pair", "wavelength, positions per turn")
    for i, (name, encoding) in enumerate(models.items()):
        own = np.abs(encoding.frequencies)
        turning = own != 0
        still = f", {len(own) - turning.sum()} of {len(own)} never turn" if not turning.all() else ""
        axes.plot(np.flatnonzero(turning), 2 * np.pi / own[turning], color=_COLOURS[i % len(_COLOURS)], label=name + still,
                  marker="o" if turning.sum() == 1 else "")
    axes.set_yscale("log")
    _legend(figure, 2 if all(len(name) < 40 for name in models) else 1)
    return figure


# ---- Bandwidth -------------------------------------------------------------------------------------------------------

_Point = Tuple[Dict[str, str], float, float]  # labels, megabytes, gigabytes a second


def _labels(row: Dict[str, Any]) -> Dict[str, str]:
    """A row's words tell it from others: the element, the source and so on."""
    return {key: value for key, value in row.items() if isinstance(value, str) and key != "best_copy"}


def _points(path: str) -> Tuple[str, List[_Point], List[_Point]]:
    """The device, the rows that were timed, and their fastest copies."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        rows: List[_Point] = []
        copies: List[_Point] = []
        for row in (row for row in report["rows"] if "us" in row):
            size = float(row["bytes"])
            rows.append((_labels(row), size * 1e-6, size / row["us"]["median"] * 1e-3))
            copies += [({}, size * 1e-6, size / other["us"]["median"] * 1e-3) for other in row.get("beside", [])
                       if other["name"] == row.get("best_copy") and "us" in other]
        return str(report["device"]["name"]), rows, copies
    except (ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError):
        raise Refused(f"{path} is no report; vkrope bench --json prints one") from None


def _draw_line(axes: Any, name: str, points: Sequence[_Point], **look: Any) -> None:
    """The highest of several points of as many bytes is drawn."""
    highest: Dict[float, float] = {}
    for _, x, y in points:
        highest[x] = max(y, highest.get(x, 0))
    axes.plot(*zip(*sorted(highest.items())), label=name, marker="o", markersize=3.5, **look)


def bandwidth(reports: Sequence[str]) -> Any:
    """Bandwidth over the bytes that are read and written, of one or several reports of `vkrope bench --json`. The
    fastest kernel that only copies as many bytes is the roof of each."""
    found = [_points(path) for path in reports]
    devices = [device for device, _, _ in found]
    names = devices if len(set(devices)) == len(found) else [os.path.basename(path) for path in reports]
    title = "Bandwidth" if len(set(devices)) > 1 else f"Bandwidth on {devices[0]}"
    figure, axes = _figure(title, "MB read and written", "GB/s")
    labels = [row[0] for _, rows, _ in found for row in rows]
    differing = [key for key in (labels[0] if labels else {}) if key == "element" or len({own.get(key) for own in labels}) > 1]
    colours = iter(_COLOURS * 99)
    for i, (_, rows, copies) in enumerate(found):
        if not rows:
            raise Refused(f"{reports[i]} has no row that was timed")
        of_report = f"{names[i]}, " if len(found) > 1 else ""
        if copies:
            _draw_line(axes, of_report + "the fastest copy", copies, color=_GREY, linestyle=["--", ":", "-."][i % 3])
        lines: Dict[str, Any] = {}
        for row in rows:
            lines.setdefault(of_report + ", ".join(row[0].get(key, "") for key in differing), []).append(row)
        for name, points in lines.items():
            _draw_line(axes, name, points, color=next(colours))
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticker = optional("matplotlib.ticker", "plot")
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(ticker.NullFormatter())
    _legend(figure)
    return figure


# ---- Caches ----------------------------------------------------------------------------------------------------------

def cache_errors(k: Any, *, order: Optional[str] = None, encoding: Optional[Encoding] = None,
                 element: Optional[str] = None, device: Optional[Device] = None) -> Dict[str, Tuple[float, float]]:
    """The error of keys in each format, as its root mean square over the keys' own: without Hadamard blocks, and with the
    largest blocks that a head takes. An encoding turns the keys first."""
    device = device or Device("cpu")
    keys = as_float32("k", tensor("k", k), element)
    keys = keys if encoding is None else device.rotate(encoding, keys, 0, order=order)
    block = min(keys.shape[-1] & -keys.shape[-1], 512) if keys.ndim else 0
    size = float(np.sqrt(np.mean(keys.astype(np.float64) ** 2)))
    if not np.isfinite(size) or size == 0:
        raise Refused("k holds nothing but zeros, or what is not finite")
    errors: Dict[str, Tuple[float, float]] = {}
    for name, form in FORMATS.items():
        if name == "f32" or keys.shape[-1] % form.elements:
            continue
        found = []
        for hadamard in (0, block if block >= 16 else 0):
            kept = dequantize(device.fused(None, k=keys, order=order, cache=name, hadamard=hadamard).k)
            back = device.fused(None, kept, order=order, hadamard=hadamard).q if hadamard else kept
            found.append(float(np.sqrt(np.mean((back.astype(np.float64) - keys) ** 2))) / size)
        errors[name] = (found[0], found[1])
    return errors


def caches(k: Any, *, order: Optional[str] = None, encoding: Optional[Encoding] = None, element: Optional[str] = None,
           device: Optional[Device] = None) -> Any:
    """Bars of `cache_errors`, the smallest formats last."""
    errors = cache_errors(k, order=order, encoding=encoding, element=element, device=device)
    figure, axes = _figure("Error of K in each cache format", "root mean square error / that of K", "")
    places = np.arange(len(errors))
    for i, label in enumerate(("without Hadamard blocks", "with Hadamard blocks")):
        axes.barh(places + 0.4 * i - 0.2, [pair[i] for pair in errors.values()], 0.36, color=_COLOURS[i], label=label)
    bits = {name: 8 * FORMATS[name].bytes / FORMATS[name].elements for name in errors}
    axes.set_yticks(places, [f"{name}, {bits[name]:g} bits" for name in errors])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xscale("log")
    _legend(figure)
    return figure
