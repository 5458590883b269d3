"""Media as user code gives them: checked and copied at once, encoded later by the thread that sends them.

A tensor on a GPU is copied there, so that no call waits for the device."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.errors import InvalidWorkload
from gradstream.user_logging.items import MAX_BINS, MAX_COLUMNS, MAX_ROWS, MAX_VALUES_BYTES, LimitExceeded
from gradstream.user_logging.png import encode_png


@dataclass(frozen=True, slots=True)
class Encoded:
    content: bytes

    @property
    def nbytes(self) -> int:
        return len(self.content)

    def encode(self) -> bytes:
        return self.content


@dataclass(frozen=True, slots=True)
class Pixels:
    values: Any
    """An array, or a tensor of any device: (height, width), (height, width, channels) or (channels, height, width)."""
    channels_first: bool
    nbytes: int

    def encode(self) -> bytes:
        found = _on_host(self.values)
        found = found[:, :, None] if found.ndim == 2 else found.transpose(1, 2, 0) if self.channels_first else found
        if found.dtype == bool:
            return encode_png(found.astype(np.uint8) * np.uint8(255))
        if found.dtype == np.uint8:
            return encode_png(found)
        return encode_png((np.clip(np.nan_to_num(found), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8))


@dataclass(frozen=True, slots=True)
class Values:
    values: Any
    bins: int
    nbytes: int

    def encode(self) -> bytes:
        found = _on_host(self.values).reshape(-1)
        if found.dtype != np.float32:
            found = found.astype(np.float64)
        is_finite = np.isfinite(found)
        nan, finite = int(np.isnan(found).sum()), found if is_finite.all() else found[is_finite]
        counts, edges = _histogram(finite, self.bins)
        inf = found.size - finite.size - nan
        return _json({"edges": edges, "counts": counts, "nan": nan, "inf": inf})


def image_snapshot(image: Any) -> Pixels:
    """Raises: InvalidWorkload, LimitExceeded."""
    if hasattr(image, "getbands"):  # of PIL
        image = np.asarray(image if image.mode in ("L", "LA", "RGB", "RGBA") else image.convert("RGBA"))
    values = _copied("log_image", image)
    shape = tuple(values.shape)
    kind = "bool" if _is_bool(values) else str(values.dtype).removeprefix("torch.")
    if not (kind in ("uint8", "bool") or kind.startswith("float")):
        raise InvalidWorkload(f"log_image: the pixels are {kind}; give uint8 from 0 to 255, or floats from 0 to 1")
    first, last = len(shape) == 3 and shape[0] in (1, 3, 4), len(shape) == 3 and shape[2] in (1, 3, 4)
    if not (len(shape) == 2 or first or last) or not math.prod(shape):
        raise InvalidWorkload(
            f"log_image: the image has the shape {shape}; give height x width, 1, 3 or 4 channels x height x width, or channels "
            "last. Make one image of several with torchvision.utils.make_grid"
        )
    return Pixels(values, first and (not last or not isinstance(values, np.ndarray)), values.nbytes)


def figure_snapshot(figure: Any) -> Encoded:
    """Draw a figure of matplotlib, in this thread. Raises: InvalidWorkload."""
    if not hasattr(figure, "savefig"):
        raise InvalidWorkload(
            f"log_figure: {type(figure).__name__} is not a figure of matplotlib; install matplotlib, and give what plt.figure() or "
            "plt.subplots() returns, or ax.figure"
        )
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return Encoded(file.getvalue())


def text_snapshot(text: object) -> Encoded:
    """Raises: InvalidWorkload."""
    if not isinstance(text, str):
        raise InvalidWorkload(f"log_text: {type(text).__name__} is not text; give a str")
    return Encoded(text.replace("\x00", "\ufffd").encode(errors="replace"))


def table_snapshot(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Encoded:
    """Raises: InvalidWorkload, LimitExceeded."""
    names = list(columns) if not isinstance(columns, str) else []
    if not 1 <= len(names) <= MAX_COLUMNS or not all(isinstance(name, str) for name in names):
        raise InvalidWorkload(f"log_table: columns must be a list of 1 to {MAX_COLUMNS} names, not {repr(columns)[:60]}")
    given = _row(rows)
    if len(given) > MAX_ROWS:
        raise LimitExceeded(f"it has {len(given):,} rows, and {MAX_ROWS:,} are allowed; log a part of it")
    made = [[_cell(value) for value in _row(row)] for row in given]
    for number, row in enumerate(made):
        if len(row) != len(names):
            raise InvalidWorkload(f"log_table: row {number} has {len(row)} cells, and there are {len(names)} columns")
    return Encoded(_json({"columns": names, "rows": made}))


def histogram_snapshot(values: Any, bins: int) -> Values:
    """Raises: InvalidWorkload, LimitExceeded."""
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= MAX_BINS:
        raise InvalidWorkload(f"log_histogram: bins must be a whole number from 1 to {MAX_BINS}, not {repr(bins)[:60]}")
    copied = _copied("log_histogram", values)
    if not (_is_bool(copied) or str(copied.dtype).removeprefix("torch.").startswith(("float", "int", "uint"))):
        raise InvalidWorkload(f"log_histogram: the values are {copied.dtype}; give real numbers")
    return Values(copied, bins, copied.nbytes)


def _copied(call: str, value: Any) -> Any:
    """Return a copy of a tensor on its device, or an array. Raises: InvalidWorkload, LimitExceeded."""
    if (nbytes := getattr(value, "nbytes", 0)) > MAX_VALUES_BYTES:
        raise LimitExceeded(f"it has {nbytes:,} bytes, and {MAX_VALUES_BYTES:,} are allowed; log a part of it")
    if hasattr(value, "detach") and hasattr(value, "is_cpu"):
        found = value.detach()
        return found.clone() if str(found.dtype) != "torch.bfloat16" else found.float()
    try:
        found = np.array(value)
    except (ValueError, TypeError):
        found = np.array(None)
    if found.dtype.kind not in "biuf":
        raise InvalidWorkload(f"{call}: {type(value).__name__} is not a tensor or array of real numbers; give one")
    return found


def _on_host(values: Any) -> NDArray[Any]:
    return values if isinstance(values, np.ndarray) else values.cpu().numpy()


def _is_bool(values: Any) -> bool:
    return str(values.dtype) in ("bool", "torch.bool")


def _histogram(values: NDArray[Any], bins: int) -> tuple[list[int], list[float]]:
    """Return counts and edges of equal bins between the smallest and the largest value."""
    if not values.size:
        return [], []
    low, high = float(values.min()), float(values.max())
    if not low < high or not math.isfinite(high - low):
        return [int(values.size)], [low, high if low < high else low]
    counts, edges = np.histogram(values, bins, (low, high))
    return counts.tolist(), edges.astype(np.float64).tolist()


def _row(given: Any) -> list[Any]:
    """Raises: InvalidWorkload."""
    given = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise InvalidWorkload(f"log_table: rows must be a list of lists of cells, and this is {repr(given)[:60]}")
    return list(given)


def _cell(value: Any) -> str | float | int | bool | None:
    """Raises: InvalidWorkload."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", None) is not None else value
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) and abs(value) < 2**53 else str(value)
    raise InvalidWorkload(f"log_table: a cell is {type(value).__name__}; give text, a number, a bool or None")


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode(errors="replace")
