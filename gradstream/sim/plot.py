"""One picture of a simulation. Needs matplotlib: pip install 'gradstream[plot]'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradstream.errors import Invalid
from gradstream.sim import figures
from gradstream.sim.figures import Curve
from gradstream.sim.result import Result
from gradstream.sim.times.speeds import Speeds

FORMATS = (".svg", ".png", ".pdf")


def ready(path: Path) -> None:
    """Raises: Invalid, before a long run, if `draw` will not be able to."""
    if path.suffix not in FORMATS:
        raise Invalid(f"--plot writes {', '.join(FORMATS)}; '{path.name}' ends in none of them")
    if not path.resolve().parent.is_dir():
        raise Invalid(f"--plot: there is no folder {path.resolve().parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Invalid("--plot needs matplotlib: pip install 'gradstream[plot]'") from error


def draw(path: Path, title: str, result: Result, curve: Curve, speeds: Speeds) -> None:
    """Loss, scores, staleness, throughput and waiting time, side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    FigureCanvasAgg(figure)
    (loss, score, stale), (rate, wait, samples) = figure.subplots(2, 3)
    figure.suptitle(title)
    times = [point.time for point in curve.points]
    kept = [(point.time, point.loss) for point in curve.points if point.loss is not None]
    _line(loss, "Training loss", [at for at, _ in kept], [value for _, value in kept])
    _scores(score, curve)
    _staleness(stale, result)
    _line(rate, "Samples per unit of virtual time", times, figures.rates(curve.points))
    _waiting(wait, result, speeds)
    _line(samples, "Samples seen by the center", times, [point.samples for point in curve.points])
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _line(axes: Any, title: str, x: list[float], y: list[Any]) -> None:
    axes.plot(x, y, marker=".")
    axes.set_title(title)
    axes.set_xlabel("virtual time")
    axes.grid(alpha=0.3)


def _scores(axes: Any, curve: Curve) -> None:
    names = [name for name in (curve.points[-1].scores if curve.points else {}) if name != "loss"] or ["loss"]
    for name in names:
        kept = [(point.time, point.scores[name]) for point in curve.points if name in point.scores]
        axes.plot([at for at, _ in kept], [value for _, value in kept], marker=".", label=name)
    axes.set_title("On the evaluation split")
    axes.set_xlabel("virtual time")
    axes.grid(alpha=0.3)
    axes.legend()


def _staleness(axes: Any, result: Result) -> None:
    found = figures.staleness(result)
    axes.bar([int(value) for value in found["counts"]], list(found["counts"].values()), width=1.0)
    axes.set_title("Staleness of pushes" + ("" if found["mean"] is None else f", mean {found['mean']:.2f}"))
    axes.set_xlabel("updates")
    axes.set_ylabel("pushes")


def _waiting(axes: Any, result: Result, speeds: Speeds) -> None:
    found = figures.shares(result, speeds)
    names = [f"{share.name} ({share.workers})" for share in found]
    axes.barh(names, [share.compute for share in found], label="computes")
    axes.barh(names, [share.wait for share in found], left=[share.compute for share in found], label="waits")
    axes.set_title("Virtual time of a worker")
    axes.set_xlabel("virtual time")
    axes.legend()
