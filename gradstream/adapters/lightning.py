"""A LightningModule as a workload. `training_step` is the loss; the means that `validation_step` logs are the scores.

class Digits(LightningWorkload):
    hidden: int = 128
    def module(self): return DigitsModule(self.hidden)      # a LightningModule as it is
    def dataset(self, split): ...                           # or self.from_datamodule(DigitsData(), split)

No Trainer runs: the platform steps, shards the data and evaluates. Code of a module that a Trainer would call or lend is refused
where leaving it out would change the training (docs/adr/0114-models-of-other-libraries-are-workloads.md).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, default_collate

from gradstream.accuracy import described, is_number, scalar
from gradstream.adapters.configured import check_configured, read_configured
from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.workload import Split, Workload

_PACKAGES = ("lightning", "pytorch_lightning")
_CALLED = {"configure_optimizers", "configure_model"}
"""Methods of a module that the adapter calls itself."""
_OTHER_HOOKS = {
    "backward",
    "lr_scheduler_step",
    "optimizer_step",
    "optimizer_zero_grad",
    "transfer_batch_to_device",
}
_NOT_OF_TRAINING = ("on_test_", "on_predict_", "on_gpu")
_REMEDY = 'or name it in the workload, if the training does without: ignores = frozenset({{"{name}"}})'


class LightningWorkload(Workload):
    """Subclass it with `module` and `dataset`."""

    classifies: ClassVar[bool] = False
    ignores: ClassVar[frozenset[str]] = frozenset()
    """Methods of the module that need not be called, and `configure_optimizers` if the job file alone decides on the steps."""
    _train_calls = 0
    _scored_calls = 0
    _scoring_processes = 1

    def module(self) -> Any:
        """A new LightningModule, as `model` of other workloads."""
        raise NotImplementedError

    def model(self) -> nn.Module:
        """The module, without a Trainer. Raises: InvalidWorkload."""
        module = self.module()
        base = _base_of(module)
        _refuse_own_loop(module, base)
        _refuse_hooks(module, base, self.ignores)
        module.trainer = NO_TRAINER
        module.log = self._log
        self._logged: dict[str, Any] | None = None
        self._metrics: dict[str, Any] = {}
        for hook, args in (("setup", ("fit",)), ("configure_model", ())):
            if _overrides(module, base, hook):
                getattr(module, hook)(*args)
        return module  # type: ignore[no-any-return]

    def check_job(self, spec: JobSpec, model: nn.Module) -> None:
        if spec.members > 1:
            raise InvalidWorkload("members: a LightningModule scores itself, so no ensemble of several is scored; remove members")
        self._scoring_processes = spec.evaluate.processes
        if "configure_optimizers" not in self.ignores and _overrides(model, _base_of(model), "configure_optimizers"):
            check_configured(read_configured(model.configure_optimizers()), spec, model)  # type: ignore[operator]

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        self._train_calls += 1
        return self._train_step(model, batch, self._train_calls - 1)

    def _train_step(self, model: nn.Module, batch: Any, number: int) -> Tensor:
        self._logged = None
        found = _call_step(model.training_step, batch, number)  # type: ignore[arg-type]
        loss = found.get("loss") if isinstance(found, Mapping) else found
        if loss is None:
            raise InvalidWorkload(
                "training_step() returned no loss; return it, or a dict with the key 'loss'. A mini-batch cannot be left out: "
                "return a loss of 0 times an output instead"
            )
        return loss  # type: ignore[no-any-return]

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        """Return the logs of `validation_step`; without one, the loss of `training_step`."""
        self._scored_calls += 1
        if not _overrides(model, _base_of(model), "validation_step"):
            return {"loss": scalar(self._train_step(model, batch, self._scored_calls - 1))}
        self._logged = {}
        _call_step(model.validation_step, batch, self._scored_calls - 1)  # type: ignore[arg-type]
        logged, self._logged = self._logged, None
        if not logged and not self._metrics:
            raise InvalidWorkload('validation_step() logs nothing; call self.log("val_loss", loss) in it')
        return logged

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        """Values of the torchmetrics that `validation_step` logs, over the whole split."""
        values = {name: float(metric.compute()) for name, metric in self._metrics.items()}
        for metric in self._metrics.values():
            metric.reset()
        return values

    def from_datamodule(self, datamodule: Any, split: Split) -> Dataset[Any]:
        """The data set behind a DataLoader of a LightningDataModule, with its `collate_fn` and `drop_last`. The job file's
        `batch_size` holds, and the job shuffles. Raises: InvalidWorkload."""
        datamodule.prepare_data()
        datamodule.setup("fit")
        name = "train_dataloader" if split == "train" else "val_dataloader"
        loader = getattr(datamodule, name)()
        if not isinstance(loader, DataLoader):
            raise InvalidWorkload(f"{name}() returned {described(loader)}, and a split is one DataLoader; return one")
        if loader.collate_fn not in (default_collate, None):
            self.collate_fn = loader.collate_fn  # type: ignore[method-assign, assignment]
        if split == "train" and loader.drop_last:
            self.drop_last = True  # type: ignore[misc]
        return loader.dataset

    def _log(self, name: str, value: Any, *args: Any, **options: Any) -> None:
        """Stands in for `LightningModule.log`. In `training_step` it logs as the workload does, and leaves out torchmetrics."""
        if self._logged is None:
            if not isinstance(value, nn.Module):
                self.log(name, value, reduce=options.get("reduce_fx", "mean"))
            return
        if options.get("reduce_fx", "mean") != "mean":
            raise InvalidWorkload(f"validation_step() logs '{name}' with reduce_fx, and scores are means over the split; remove it")
        if isinstance(value, nn.Module) and hasattr(value, "compute"):
            if self._scoring_processes > 1:
                raise InvalidWorkload(
                    f"evaluate.processes: validation_step() logs '{name}' as a torchmetrics object, which sees the "
                    "mini-batches of its own process alone; set it to 1, or log a number"
                )
            self._metrics[name] = value
            return
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        if not is_number(value):
            raise InvalidWorkload(f"validation_step() logs '{name}' as {described(value)}, and scores are numbers; log its mean()")
        self._logged[name] = value


class _NoTrainer:
    """Stands where a Trainer would be, and refuses what is asked of it."""

    logger = None
    loggers: ClassVar[list[Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InvalidWorkload(
            f"the module uses self.trainer.{name} (also behind self.current_epoch, self.optimizers() and the like), and no Trainer "
            "runs in a job; give the module the number that it needs as an argument, or remove the use"
        )


NO_TRAINER = _NoTrainer()


def _base_of(module: Any) -> type[nn.Module]:
    """Return the class LightningModule that this one derives from. Raises: InvalidWorkload."""
    for each in type(module).__mro__:
        if each.__name__ == "LightningModule" and each.__module__.partition(".")[0] in _PACKAGES:
            return each
    raise InvalidWorkload(f"module() must return a LightningModule, not {described(module)}; for other modules, subclass Workload")


def _overrides(module: Any, base: type[nn.Module], name: str) -> bool:
    return getattr(type(module), name, None) is not getattr(base, name, None)


def _refuse_own_loop(module: Any, base: type[nn.Module]) -> None:
    """Raises: InvalidWorkload: the module has no loss of its own, or steps by itself."""
    name = type(module).__name__
    if not _overrides(module, base, "training_step"):
        raise InvalidWorkload(f"{name} has no training_step(); add `def training_step(self, batch)`, which returns the mean loss")
    if not module.automatic_optimization:
        raise InvalidWorkload(
            f"{name} sets automatic_optimization = False, and a job steps by itself; let training_step() return the loss and "
            "remove manual_backward() and step(). A GAN needs another form, see docs/guides/what-does-not-fit.md"
        )


def _refuse_hooks(module: Any, base: type[nn.Module], ignored: frozenset[str]) -> None:
    """Raises: InvalidWorkload: a Trainer would call a method that no job calls."""
    hooks = {name for name in dir(base) if name.startswith(("on_", "configure_")) and not name.startswith(_NOT_OF_TRAINING)}
    for name in sorted((hooks | _OTHER_HOOKS) - _CALLED - ignored):
        if _overrides(module, base, name):
            raise InvalidWorkload(
                f"{type(module).__name__} has {name}(), which a Trainer calls and a job does not; move its work into "
                f"training_step(), or into a hook of the workload, such as on_epoch_end(), {_REMEDY.format(name=name)}"
            )


def _call_step(step: Callable[..., Any], batch: Any, number: int) -> Any:
    """Call a step with as many of (batch, batch_idx, dataloader_idx) as it takes."""
    taken = inspect.signature(step).parameters
    numbers = {"batch_idx": number, "dataloader_idx": 0}
    named = {name: value for name, value in numbers.items() if name in taken}
    positional = [p for p in taken.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not named and len(positional) > 1 and positional[1].default is inspect.Parameter.empty:
        return step(batch, number)
    return step(batch, **named)
