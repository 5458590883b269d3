"""The base class of strategies, and the two sides that a strategy talks to.

A strategy has two halves: `round`, which every worker runs, and `apply`, which every shard runs. Everything pushed is a
*direction to descend* (a gradient, or base - theta), so most strategies share the default server half; server optimizer,
local optimizer, gate and codec are chosen in the job file and appear in no strategy.

The classes named `...Side` are protocols: the simulator and the platform both provide them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gradstream.bounds import BoundedPart, Number
from gradstream.gate import Gate, Mode
from gradstream.optim.spec import Optimizer
from gradstream.strategies.intent import Intent

if TYPE_CHECKING:
    from torch import Tensor

Side = Literal["worker", "server"]
Hogwild = Literal["steps", "gradients"]
"""Work of a round that the hogwild threads of a worker share."""
Recurrence = Literal["serial", "gradients", "windows", "averages", "epochs", "elastic", "gathered", "merged"]
"""How a strategy behaves near a minimum. Each has a stability limit in `gradstream.advise.limits`.

    serial      one worker's own steps
    gradients   each push is a gradient, taken at the center that was pulled
    windows     each push is the move of some plain steps from the center that was pulled, or a share of it
    averages    the server steps along the mean of such moves
    epochs      the same with moves of whole epochs, after which workers reset their optimizers
    elastic     workers and center pull each other by exchanges
    gathered    the server gathers such moves, whosever they are, for one step
    merged      workers send a part of their move, and go on from their own parameters
"""


class WorkerSide(Protocol):
    """`w`: the model of one worker as one flat vector, its data and its local optimizer."""

    theta: Tensor
    """The parameters, shape (size,). Change it in place only. Read it anew after a pull: it may be another vector then."""

    @property
    def t(self) -> int: ...  # mini-batches taken so far, over all incarnations of this rank
    @property
    def n(self) -> int: ...  # live workers, as of the last response
    @property
    def done(self) -> bool: ...  # the mini-batch taken last was the last one
    @property
    def left(self) -> int: ...  # mini-batches that are not taken yet
    @property
    def epoch(self) -> int: ...  # mini-batches in one pass over this worker's share of the data
    @property
    def lr(self) -> float: ...  # the learning rate as the schedule has it now, for rules that do not `descend`

    def grad(self, at: Tensor | None = None) -> Tensor:
        """Gradient of the mean loss over the next mini-batch, at `at` (default: theta). Valid until the next call or push."""

    def descend(self, g: Tensor) -> None:
        """One step of the local optimizer along `g`."""

    def step(self) -> None:
        """`descend(grad())`."""

    def reset(self) -> None:
        """The local optimizer forgets its momentum and whatever else it keeps."""

    def local(self, k: int | None) -> int:
        """Up to `k` steps (None: to the end); returns how many were made, fewer than `k` at the end of the data."""

    def window(self, k: int | None) -> Iterator[int]:
        """1, 2, ... k, ending early with the data; the body takes one mini-batch each time."""

    def every(self, k: int) -> bool:
        """True at each k-th mini-batch, and at the last: so a partial window is never lost."""

    def slot(self, name: str, first: Tensor | None = None) -> Tensor:
        """A vector like theta that is saved with the worker's state; at first a copy of `first`, or zero."""


class ServerSide(Protocol):
    """`ps`: all shards of the center, seen by a worker."""

    def pull(self, out: Tensor) -> None:
        """Copy the center into `out`. The next push counts its staleness from here."""

    def push(self, x: Tensor) -> None:
        """Send a direction to descend. Returns when `x` may be changed again."""

    def exchange(self, x: Tensor, out: Tensor) -> Tensor:
        """Send `x`, wait for what `apply` answers, and return it (in `out`): one atomic operation on the center."""

    def post(self, x: Tensor | None, out: Tensor | None) -> Any:
        """Start an exchange (or, with x=None, a pull) and return a ticket for `wait`."""

    def wait(self, ticket: Any) -> Tensor: ...


class Update(Protocol):
    """`u`: one push, as the shard sees it. All vectors are this shard's slices."""

    x: Tensor
    staleness: int
    """Changes of the center between the worker's pull and now; exactly 0 under bsp."""
    base: Tensor | None
    """The center that the worker had pulled; None unless the strategy `keeps_base`."""
    response: Tensor | None
    """Response to an exchange; set it in `apply`."""

    @property
    def rank(self) -> int: ...
    @property
    def examples(self) -> int: ...
    @property
    def steps(self) -> int: ...


class Updates(Protocol):
    """`us`: the updates that count together, in rank order: one under asp and ssp, the round's under bsp."""

    def __iter__(self) -> Iterator[Any]: ...  # of Update
    def mean(self) -> Tensor: ...  # weighted by examples
    def sum(self) -> Tensor: ...


class ShardSide(Protocol):
    """`s`: one slice of the center."""

    theta: Tensor

    @property
    def n(self) -> int: ...  # workers that the job has
    def every(self, k: int) -> bool: ...  # true at each k-th call, counted over the whole job
    def descend(self, g: Tensor) -> None: ...  # one step of the server optimizer along `g`
    def vector(self) -> Tensor: ...  # a new one like theta, for a response

    def slot(self, name: str) -> Tensor:
        """A vector like theta that is part of every checkpoint; zero at first."""

    def by_parts(self, rule: Callable[..., Tensor], *vectors: Tensor) -> Tensor:
        """Return `rule(*vectors)` for a rule that works element by element. It gets a short part of each vector at a time, so
        that its operations make no vectors like theta. Valid until the next call."""

    def add(self, d: Tensor, scale: float = 1.0) -> None: ...  # theta += scale d
    def replace(self, x: Tensor) -> None: ...  # theta = x

    def send(self, x: Tensor) -> Tensor:
        """The value that the worker will hold after decoding `x`: use it on the center too, and nothing leaks."""


class Strategy(BoundedPart, frozen=True):
    """Base of all strategies. Fields are the paper's hyper-parameters; from them come the job file, the REST schema,
    the web form, the CLI help and the table in the docs."""

    intent: ClassVar[Intent | None] = None
    """The aim that it is selected for; every strategy of the platform has one."""
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp", "ssp", "asp"})
    """The gates it is meant for; others are refused at submit."""
    gate: ClassVar[Gate] = Gate(mode="asp")
    """The gate of a job that names none."""
    descends: ClassVar[Side] = "worker"
    """The side that uses lr and the job's `optimizer`: the server when raw gradients are pushed. If such a round begins with a
    pull, it does not change theta."""
    optimizers: ClassVar[frozenset[Side]] = frozenset({"worker", "server"})
    """The sides that make their steps by an optimizer; one that is named for another side is refused."""
    server_optimizer: ClassVar[Optimizer | None] = None
    """The server's optimizer where workers descend, for jobs that name none; None: theta - x."""
    pushes: ClassVar[Literal["direction", "parameters"]] = "direction"
    """direction: the residual of a lossy codec may come with the next push; parameters: nothing may be missing."""
    workers: ClassVar[int | None] = None
    """The only number of workers it runs with; None: any."""
    hogwild: ClassVar[Hogwild | None] = None
    """steps: a round takes its mini-batches by `w.local` only, and threads share those. gradients: it pulls, and pushes one
    `w.grad()`; each thread pushes one. None: neither, so job files refuse such threads."""
    keeps_base: ClassVar[bool] = False
    """The server keeps the center that each worker holds: one more copy of the model per worker."""
    round_vectors: ClassVar[int] = 0
    """Vectors like theta that a round makes at most, with its slots, beside theta, a gradient and what travels. A plan counts them;
    tests/integration/local/test_memory.py measures them."""
    apply_vectors: ClassVar[int] = 0
    """Vectors like theta that `apply` makes at most, beside slots and responses. `s.by_parts` makes one. They are measured, too."""
    pulls_every_round: ClassVar[bool] = True
    """Each round starts with `ps.pull(w.theta)`, so the response to a push brings the center: after its push, a round leaves theta
    alone, as the next center may be arriving there. False: the round pulls when it wants."""
    reads_left: ClassVar[bool] = False
    """A round goes by `w.left`. Under `data.deal: demand` its worker then holds the mini-batches of the next round, too."""
    responds: ClassVar[bool] = False
    """`apply` makes the response to each push (`u.response`)."""
    uses_lr_beside_optimizer: ClassVar[bool] = False
    """lr means something also when the optimizer has one of its own."""
    recurrence: ClassVar[Recurrence | None] = None
    """The linear recurrence that it follows near a minimum; None: another rule, whose stability limit is unknown."""
    divides_by_staleness: ClassVar[bool] = False
    """`apply` divides each push by its staleness + 1."""
    symbols: ClassVar[dict[str, str]] = {}
    """The paper's symbols of some fields, which job files may use instead."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuses, when the file of a strategy is imported, what would pull a response in the place of the center."""
        if cls.responds and cls.pulls_every_round:
            raise TypeError(f"{cls.__name__} answers each push itself, so none brings the center: set pulls_every_round = False")

    @property
    def leaves_theta(self) -> bool:
        """A round pulls, takes a gradient there and pushes it: theta stays the center that was pulled."""
        return self.pulls_every_round and self.descends == "server"

    @property
    def applies_mean(self) -> bool:
        """A shard needs only the mean of the pushes that count together."""
        return type(self).apply is Strategy.apply

    @property
    def averages_optimizers(self) -> bool:
        """The state of the workers' optimizers travels with every push, is averaged like BatchNorm's statistics, and comes
        back with every pull."""
        return False

    @model_validator(mode="before")
    @classmethod
    def _by_symbol(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for symbol, field in cls.symbols.items():
            if symbol in given and field in given:
                raise ValueError(f"'{symbol}' and '{field}' are two names of one setting; give one of them")
        return {cls.symbols.get(key, key): value for key, value in given.items()}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the facts by which the web form selects a strategy, and the gate and workers that go with it."""
        schema = handler.resolve_ref_schema(handler(core))
        facts = {"intent": cls.intent._asdict() if cls.intent else None, "gates": sorted(cls.gates), "workers": cls.workers}
        return {**schema, "x-strategy": facts}

    @classmethod
    def about(cls) -> dict[str, Any]:
        """Return the facts to choose a strategy by, for the API and `gradstream strategies --json`."""
        return {
            "name": cls.model_fields["name"].default,
            "summary": cls.summary(),
            "intent": cls.intent.title if cls.intent else None,
            "gates": sorted(cls.gates),
            "default_gate": str(cls.gate),
            "descends": cls.descends,
            "optimizers": sorted(cls.optimizers),
            "schema": cls.model_json_schema(),
        }

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the strategy's docstring."""
        return (cls.__doc__ or "").strip().partition("\n")[0]

    lr: Number = Field(0.05, gt=0, description="Learning rate")

    def steps_per_push(self, epoch: int | None = None) -> int | None:
        """Mini-batches of a worker from one push to the next, with `epoch` of them in its pass over the data; None: unknown,
        or as many as the job has."""
        window: int | None = getattr(self, "window", 1)
        return window

    def steps_per_pull(self) -> int | None:
        """Mini-batches of a worker from one pull to the next; None: unknown."""
        return self.steps_per_push()

    def push_share(self) -> float:
        """The share of a worker's move that its push holds."""
        return 1.0

    @property
    def server_slots(self) -> int:
        """Slots of a shard."""
        return 0

    def gathers(self, workers: int) -> int | None:
        """How many pushes the server gathers, in a vector of its own, for one step; None: none, each is applied."""
        return None

    def for_workers(self, count: int) -> Self:
        """Return this strategy with its empty fields set to their values for so many workers."""
        return self

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        """One communication round of a worker. Short; may block in `ps`; keeps state between rounds in `w` only."""
        raise NotImplementedError

    def apply(self, s: ShardSide, us: Updates) -> None:
        """Apply the updates that count together to a shard. Leaving theta unchanged means: deferred."""
        s.descend(us.mean())
