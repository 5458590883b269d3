"""Records that worker 0 stores beside the training: its environment, the tensors that checkpoints lack, and the table of
parameters."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from gradstream.errors import Unavailable
from gradstream.model.flat_model import FlatModel
from gradstream.model.weights.in_checkpoint import describe_tensors
from gradstream.process.environment import ENVIRONMENT, collect_environment
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.state_file import state_file
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import TENSORS, Store
from gradstream.updates.parameter_table import PARAMETERS
from gradstream.updates.parameters import describe_parameters
from worker_node.settings import WorkerSettings

log = logging.getLogger(__name__)


@contextmanager
def environment_recorded(order: ProcessOrder, uploads: Uploads, settings: WorkerSettings) -> Iterator[None]:
    """Store the environment while the body runs. A failure to do so is logged and fails nothing."""
    if order.rank != 0 or order.incarnation != 0:
        yield
        return
    thread = threading.Thread(
        target=_record, args=(order.gpus[0] if order.gpus else None, uploads), name="environment", daemon=True
    )
    thread.start()
    yield
    thread.join(settings.environment_timeout)


@contextmanager
def tensors_recorded(order: ProcessOrder, flat: FlatModel, store: Store) -> Iterator[None]:
    """While the body runs, store the record that another job needs to start from a checkpoint of this one. A failure is logged and
    fails nothing. Frozen parameters may be large, so the checkpoints of this process do not queue behind them."""
    if order.rank != 0 or order.store.is_folder:
        yield
        return
    uploads = Uploads(store)
    try:
        uploads.add(TENSORS, state_file(describe_tensors(flat)), needed=False)
    except TypeError as error:  # a frozen parameter of a dtype that no file of tensors has
        log.warning("other jobs cannot start from checkpoints of this attempt: %s", error)
    yield
    try:
        uploads.finish()
    except Unavailable as error:
        log.warning("other jobs cannot start from checkpoints of this attempt: %s", error)


def record_parameters(model: nn.Module, uploads: Uploads, *, base: int, step: int, samples: int) -> None:
    """Store the table of the model's parameters as they are now, in place of an earlier one. A failure fails nothing."""
    table = describe_parameters(model, base=base, step=step, samples=samples)
    uploads.add(PARAMETERS, TextContent(table.model_dump_json()), needed=False)


def _record(gpu: int | None, uploads: Uploads) -> None:
    try:
        uploads.add(ENVIRONMENT, TextContent(collect_environment(gpu).model_dump_json(indent=1)), needed=False)
    except Exception as error:  # a broken package's metadata can raise anything
        log.warning("the environment is not recorded: %s: %s", type(error).__name__, error)
