"""The hooks of a workload in a worker: when they are called, and that they change no parameter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.model.usercode import Hook, UserCode, blaming


class WorkloadHooks:
    """All of it raises: UserError."""

    def __init__(
        self,
        code: UserCode,
        model: nn.Module,
        watch: Callable[[], AbstractContextManager[None]],
        per_epoch: int | None,
        *,
        has_share: bool = True,
    ) -> None:
        """`watch`: around each of them, refuses changes of parameters. `per_epoch`: mini-batches of a pass; None: not known.
        `has_share`: the worker's passes are over a share of its own."""
        if not has_share and code.has_hook("on_epoch_end"):
            remedy = "remove the hook, or write data.deal: shares"
            raise InvalidWorkload(f"on_epoch_end(): a worker has no pass of its own to end under data.deal: demand; {remedy}")
        self._code, self._model, self._watch, self._per_epoch = code, model, watch, per_epoch
        self._epoch: int | None = None
        """The one that was entered last."""
        self._started = False

    def start(self) -> None:
        """The worker begins to train, perhaps from a checkpoint."""
        if not self._started:
            self._started = True
            self._call("on_train_start", self._model)

    def are_due_at(self, position: int) -> bool:
        """Return whether `reach` would call a hook, which may change the data."""
        enters = self._per_epoch is not None and position // self._per_epoch != self._epoch
        return enters and (self._code.has_hook("on_epoch") or self._code.has_hook("on_epoch_end"))

    def reach(self, position: int) -> None:
        """The mini-batch of this position comes next, and the model is pulled."""
        self.start()
        self.end_epoch_before(position)
        if self._per_epoch:
            self.enter_epoch(position // self._per_epoch)

    def enter_epoch(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._epoch = epoch
            self._call("on_epoch", epoch, number=epoch)

    def end_epoch(self, epoch: int) -> None:
        self._call("on_epoch_end", self._model, epoch, number=epoch)

    def save(self, checkpoint: int) -> None:
        """The worker has saved its part of a checkpoint."""
        self._call("on_checkpoint", self._model, checkpoint, number=checkpoint)

    def end(self) -> None:
        """The worker trains no further. A server may be writing the next center into its model, so this hook gets no model."""
        if self._code.has_hook("on_train_end"):
            self._code.call_hook("on_train_end")

    def end_epoch_before(self, position: int) -> None:
        """End the epoch whose last mini-batch is just before this position, if there is one."""
        if self._per_epoch and position and position % self._per_epoch == 0:
            self.end_epoch(position // self._per_epoch - 1)

    def _call(self, hook: Hook, *args: Any, number: int = 0) -> None:
        if self._code.has_hook(hook):
            with blaming(f"{hook}()"), self._watch():
                self._code.call_hook(hook, *args, number=number)
