"""The table of a model's parameters, as worker 0 stores it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gradstream.bounds import MAX_COUNT

PARAMETERS = "parameters.json"
MAX_ROWS = 5000
MAX_NAME = 500
MAX_BYTES = 4 * 1024**2

Total = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Dimension = Annotated[int, Field(ge=0, le=2**40)]


class ModelParameter(BaseModel, frozen=True):
    """One parameter. Tied parameters are one."""

    name: str = Field(max_length=MAX_NAME)
    shape: tuple[Dimension, ...] = Field(max_length=64)
    count: Dimension = Field(description="Elements")
    dtype: str = Field(max_length=40, examples=["float32"])
    device: str = Field(max_length=40, examples=["cpu", "cuda:0"])
    requires_grad: bool = Field(description="Trained; false: it is frozen, and stays as model() made it")
    norm: Annotated[float, Field(allow_inf_nan=False)] | None = Field(description="L2 norm; null: it is not finite")


class ParameterTable(BaseModel, frozen=True):
    """The parameters of worker 0's copy of the model. Rows of embedding tables are none of them."""

    base: Total = Field(description="The version of the center that worker 0's copy came from; local steps may have changed it")
    step: Total = Field(description="Mini-batches that worker 0 had trained when the norms were taken")
    samples: Total = Field(description="Samples of the center then")
    parameters: tuple[ModelParameter, ...] = Field(max_length=MAX_ROWS, description="In the order of model.named_parameters()")
    left_out: Total = Field(0, description="Parameters beyond the first 5,000")
    total: Total = Field(description="Elements of all parameters")
    trained: Total = Field(description="Elements of those that are trained")
