"""Warnings about valid job files. They are cheap and need no torch: they run at every submit, and while the user types.

Each warning is true of this file, names the limit, and says what to change. None of them keeps a job from running.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradstream.advise.elastic import alpha_of
from gradstream.advise.limits import limit, outer_share, rate, serial_limit
from gradstream.optim.spec import Optimizer, Sgd
from gradstream.spec import JobSpec

_LEAST_SHARE = 0.1
"""Share of the curvature at which a serial run of this rate settles. A job that keeps more gets no warning."""
_MAX_WASTE = 0.25
"""Share of the pushes that may be dropped without a warning."""
_MAX_INITIAL_SHARE = 0.1
"""Share of theta_0 in an averaged model without a warning."""


_WHOLE_ROUND = 0.5
"""Least share of the way to a minimum that a round of many local steps goes."""


@dataclass(frozen=True)
class Warning:
    pointer: str
    """JSON pointer into the job file, also to keys that it leaves out."""
    message: str
    remedy: str

    @property
    def text(self) -> str:
        return f"{self.message} {self.remedy}"


@dataclass(frozen=True)
class Note:
    pointer: str
    text: str


def warnings(spec: JobSpec) -> list[Warning]:
    """Return all warnings, at most one for each rule."""
    return [warning for rule in _RULES for warning in rule(spec)]


def notes(spec: JobSpec) -> list[Note]:
    """Explain the effective value of settings in this job."""
    n, by_server = spec.roles.worker.count, spec.strategy.descends == "server"
    optimizer: Optimizer = spec.optimizer if by_server else spec.server_optimizer
    if not isinstance(optimizer, Sgd) or not optimizer.momentum_correction:
        return []
    return [
        Note(
            f"{'/optimizer' if by_server else '/roles/server/optimizer'}/momentum_correction",
            f"The server uses a momentum of {optimizer.effective_momentum(n):.3g}: {optimizer.momentum:g}, less the "
            f"{1 - 1 / n:.3g} that {n} asynchronous workers add by themselves.",
        )
    ]


def _far_below_serial(spec: JobSpec) -> Iterator[Warning]:
    here, alone, n = limit(spec), serial_limit(spec), spec.roles.worker.count
    if not here or alone is None or here >= _LEAST_SHARE * alone:  # 0: less than the numbers of a computer tell
        return
    if _too_much_alpha(spec) or list(_total_momentum(spec)) or list(_late_outer_steps(spec)):  # says the same with its cause
        return
    window = spec.strategy.steps_per_push()
    place = "/strategy/lr" if spec.optimizer.lr is None or rate(spec) == spec.strategy.lr else "/optimizer/lr"
    helps = ", or ".join(_instead(spec, window, alone / here))
    what = f"{n} workers" + (f" with windows of {window}" if window and window > 1 else "")
    yield Warning(
        place,
        f"At this rate {what} settle only where the loss curves less than {here / rate(spec):.3g}; one process would stand "
        f"{alone / rate(spec):.3g}, {alone / here:.0f} times as much.",
        f"`gradstream advise` measures the curvature. Where training diverges, {helps}.",
    )


def _instead(spec: JobSpec, window: int | None, times: float) -> Iterator[str]:
    """Name remedies against a narrow limit, by its cause."""
    if spec.strategy.gathers(spec.roles.worker.count):
        yield "lower the momentum in roles.server.optimizer"
        yield "set gate: {ssp: 0}, where all workers continue from the same center"
        return
    yield f"divide the rate by up to {times:.0f}"
    if spec.strategy.recurrence == "elastic":
        yield "lower alpha"
    elif not spec.strategy.divides_by_staleness:
        if window and window > 1 and spec.strategy.push_share() == 1:
            yield "shorten the window"
        yield "take dynsgd, which divides by the staleness"


def _too_much_alpha(spec: JobSpec) -> bool:
    elastic = spec.strategy.recurrence == "elastic" and spec.effective_gate.mode == "bsp"
    return elastic and spec.roles.worker.count * alpha_of(spec) >= 1


def _elastic(spec: JobSpec) -> Iterator[Warning]:
    if not _too_much_alpha(spec):
        return
    n, alpha = spec.roles.worker.count, alpha_of(spec)
    diverges = (n + 1) * alpha >= 2
    effect = f"and from 2/(n + 1) = {2 / (n + 1):.3g} on nothing settles" if diverges else "beyond their mean"
    yield Warning(
        "/strategy/alpha",
        f"Under bsp a round moves the center by n alpha = {n * alpha:.3g} of its distance to the workers: at 1 or more it "
        f"overshoots, {effect}.",
        f"Set alpha below 1/n = {1 / n:.3g}, or leave it out for 0.9/n.",
    )


def _total_momentum(spec: JobSpec) -> Iterator[Warning]:
    n, by_server = spec.roles.worker.count, spec.strategy.descends == "server"
    optimizer: Optimizer = spec.optimizer if by_server else spec.server_optimizer
    if spec.effective_gate.mode != "asp" or not isinstance(optimizer, Sgd) or not optimizer.momentum or n == 1:
        return
    place = "/optimizer" if by_server else "/roles/server/optimizer"
    if gathered := spec.strategy.gathers(n):
        if gathered < n:
            yield Warning(
                "/strategy/k",
                f"An outer step for every {gathered} of {n} workers feeds the momentum {optimizer.momentum:g} with moves that are "
                "stale, which does worse than waiting for all.",
                f"Leave k out, for {n}, or take the momentum from roles.server.optimizer.",
            )
        return
    total = optimizer.momentum + 1 - 1 / n
    if optimizer.momentum_correction or total < 1:
        return
    corrected = optimizer.momentum - (1 - 1 / n)
    repair = "Set momentum_correction: true, which uses" if not optimizer.nesterov else "Leave out nesterov and set the momentum to"
    value = f"{corrected:.3g}" if not optimizer.nesterov else f"{max(0.0, corrected):.3g}"
    yield Warning(
        f"{place}/momentum",
        f"{n} asynchronous workers act like a momentum of {1 - 1 / n:.3g} by themselves; with {optimizer.momentum:g} on the "
        f"server the total is {total:.3g}, and 1 or more does not settle well.",
        f"{repair} {value}, or remove the momentum.",
    )


def _late_outer_steps(spec: JobSpec) -> Iterator[Warning]:
    """A round of many steps goes most of the way to where it is drawn, so a center that bears less of it swings ever wider."""
    server, gathers = spec.server_optimizer, spec.strategy.gathers(spec.roles.worker.count)
    if not gathers or not spec.pipeline or not isinstance(server, Sgd) or not server.momentum:
        return
    late, in_time = outer_share(spec), outer_share(spec.model_copy(update={"pipeline": 0}))
    if late is None or late >= _WHOLE_ROUND:
        return
    alone = f"; without pipeline {in_time:.0%} would be" if in_time and in_time < 1 else ""
    yield Warning(
        "/pipeline",
        f"Outer steps one round later come too late for the momentum of {server.momentum:g} in roles.server.optimizer: every "
        f"direction that moves more than {late:.0%} of its way in {spec.strategy.steps_per_push()} local steps diverges{alone}.",
        "Remove pipeline, or take roles.server.optimizer: {name: sgd, lr: 0.7}, which has no momentum.",
    )


def _dropped(spec: JobSpec) -> Iterator[Warning]:
    gate, n = spec.effective_gate, spec.roles.worker.count
    if gate.max_staleness and (share := 1 - gate.max_staleness / n) > _MAX_WASTE:
        yield Warning(
            "/gate/max_staleness",
            f"The staleness of {n} workers is {n - 1} on average: with equal speeds {n - gate.max_staleness} of every {n} pushes "
            f"are dropped ({share:.0%}).",
            f"Set it to {4 * n}, or to {n} at least, or use fewer workers.",
        )
    if gate.quorum and (share := 1 - gate.quorum / n) > _MAX_WASTE:
        yield Warning(
            "/gate/quorum",
            f"{n - gate.quorum} of {n} workers are backups, whose gradients are dropped in every round ({share:.0%} of the work).",
            f"Raise the quorum; a few per cent of backups cover for stragglers ({min(n - 1, math.ceil(0.95 * n))} of {n}).",
        )


def _dealt_behind_a_bound(spec: JobSpec) -> Iterator[Warning]:
    gate = spec.effective_gate
    if spec.data.deal == "demand" and gate.mode == "ssp" and spec.roles.worker.count > 1:
        yield Warning(
            "/data/deal",
            f"Under ssp no worker runs more than {gate.bound} rounds ahead of the slowest one, so the others take over little of "
            "what a slow worker leaves.",
            "Take gate: asp to end earlier; what a lost worker leaves is dealt again under both.",
        )


def _window_beyond_the_run(spec: JobSpec) -> Iterator[Warning]:
    window, steps = spec.strategy.steps_per_push(), spec.stop.steps
    if window is None or steps is None or steps >= window or spec.strategy.workers == 1:
        return
    place = "/strategy/window" if "window" in type(spec.strategy).model_fields else "/strategy/n_push"
    yield Warning(
        place,
        f"A window of {window} is longer than the whole run of {steps} mini-batches: every worker trains alone and pushes "
        "once, at its end.",
        f"Set a window of at most {max(1, steps // 10)}, or raise stop.steps.",
    )


def _average_of_the_start(spec: JobSpec) -> Iterator[Warning]:
    share, steps, window = spec.evaluate.average, spec.stop.steps, spec.strategy.steps_per_push()
    if not isinstance(share, float) or steps is None or window is None:
        return
    rounds = math.ceil(steps / window)
    versions = rounds * (1 if spec.effective_gate.mode == "bsp" else spec.roles.worker.count)
    left = (1 - share) ** versions
    if left > _MAX_INITIAL_SHARE:
        yield Warning(
            "/evaluate/average",
            f"The center has {versions:,} versions at most, so at the end {left:.0%} of the model that is given out would still be "
            "the one it began with.",
            f"Take 'uniform', or {min(0.5, 5 / versions):.2g} and more.",
        )


def _longer_than_the_run(spec: JobSpec) -> Iterator[Warning]:
    """Compare settings in samples with the samples of the run. In a job by epochs these are unknown before the data is there."""
    if spec.stop.steps is None:
        return
    own = spec.stop.steps * spec.batch_size
    total = own * spec.roles.worker.count
    alone, rising = spec.effective_gate.warm_start, spec.schedule.warmup
    if alone and alone >= own and spec.roles.worker.count > 1:
        yield Warning(
            "/gate/warm_start",
            f"One worker trains {own:,} samples in all, not more than the warm start of {alone:,}: the workers train one after the "
            "other.",
            f"Set it to {max(1, total // 50):,}, a few per cent of the run.",
        )
    if rising >= total:
        yield Warning(
            "/schedule/warmup",
            f"The rate would rise for {rising:,} samples, and the run has {total:,}: it never reaches its full height.",
            f"Set it to {max(1, total // 20):,} or less.",
        )


_RULES: tuple[Callable[[JobSpec], Iterator[Warning]], ...] = (
    _far_below_serial,
    _elastic,
    _total_momentum,
    _late_outer_steps,
    _dropped,
    _dealt_behind_a_bound,
    _window_beyond_the_run,
    _average_of_the_start,
    _longer_than_the_run,
)
