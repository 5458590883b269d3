"""Every algorithm, one file each. To add one: write its file, add its name to `AnyStrategy`. Everything else (job file,
REST schema, web form, CLI, docs table, contract tests) is derived from this union."""

from typing import Annotated, get_args

from pydantic import Field

from gradstream.strategies.adag import Adag
from gradstream.strategies.async_ import Async
from gradstream.strategies.base import Strategy
from gradstream.strategies.dc_asgd import DcAsgd
from gradstream.strategies.delayed_diloco import DelayedDiLoCo
from gradstream.strategies.diloco import DiLoCo
from gradstream.strategies.distance import Distance
from gradstream.strategies.downpour import Downpour
from gradstream.strategies.dynsgd import DynSgd
from gradstream.strategies.eamsgd import Eamsgd
from gradstream.strategies.easgd import Easgd
from gradstream.strategies.fedavg import FedAvg
from gradstream.strategies.fedprox import FedProx
from gradstream.strategies.geo import Geo
from gradstream.strategies.local_sgd import LocalSgd
from gradstream.strategies.single import Single
from gradstream.strategies.sync import Sync

AnyStrategy = Annotated[
    Single
    | Sync
    | Async
    | DcAsgd
    | Downpour
    | Adag
    | DynSgd
    | Distance
    | LocalSgd
    | Easgd
    | Eamsgd
    | Geo
    | FedAvg
    | FedProx
    | DiLoCo
    | DelayedDiLoCo,
    Field(discriminator="name"),
]

STRATEGIES: dict[str, type[Strategy]] = {cls.model_fields["name"].default: cls for cls in get_args(get_args(AnyStrategy)[0])}
