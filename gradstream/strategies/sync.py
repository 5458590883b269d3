"""Synchronous SGD: the mean gradient of all workers, one step, all go on.

    worker i:  g_i = grad f(theta) on B_i examples; push g_i
    server:    theta <- opt(theta, sum_i B_i g_i / sum_i B_i)          once all have pushed

n workers with batch B do what one worker with batch n*B would do. With `gate: {mode: bsp, quorum: K}` the first K of n
make a round and the others are backups.

Source: Chen, Pan, Monga, Bengio, Jozefowicz 2016, "Revisiting Distributed Synchronous SGD".
"""

from typing import ClassVar, Literal

from gradstream.gate import Gate, Mode
from gradstream.strategies.base import Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import EXACT, Intent


class Sync(Strategy, frozen=True):
    """Synchronous SGD: gradients of all workers averaged, no staleness."""

    name: Literal["sync"] = "sync"
    intent: ClassVar[Intent] = EXACT
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp"})
    gate: ClassVar[Gate] = Gate(mode="bsp")
    descends: ClassVar[Literal["worker", "server"]] = "server"
    recurrence: ClassVar[Recurrence] = "gradients"

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        ps.push(w.grad())
