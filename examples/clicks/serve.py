"""A server that answers from the newest export of a job: `EXPORTS=FOLDER uvicorn serve:app`.

`gradstream exports offers --follow FOLDER` keeps the folder in step while the job trains."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import torch
from clicks import FIELDS, WideAndDeep
from fastapi import FastAPI
from pydantic import BaseModel

from gradstream import nn as gnn
from gradstream.errors import Invalid
from gradstream.serving import ExportSnapshot, Tables

LOOK_EVERY = float(os.environ.get("LOOK_EVERY", "2"))  # seconds


class Asked(BaseModel):
    people: list[tuple[str, str, str, str]]  # age, work, schooling, hours


def model_of(export: ExportSnapshot) -> WideAndDeep:
    export.load_into(model := WideAndDeep())
    return model.eval()


async def follow(tables: Tables, app: FastAPI) -> None:
    while await asyncio.sleep(LOOK_EVERY, True):
        try:
            if await asyncio.to_thread(tables.follow):
                app.state.served = tables.current.number, model_of(tables.current)
        except Invalid as error:  # the model before goes on
            logging.error("no newer export: %s", error)


@asynccontextmanager
async def following(app: FastAPI) -> AsyncIterator[None]:
    tables = Tables(os.environ["EXPORTS"])
    app.state.served = tables.current.number, model_of(tables.current)  # replaced whole, so a request reads one export
    task = asyncio.create_task(follow(tables, app))
    yield
    task.cancel()


app = FastAPI(lifespan=following)


@app.post("/clicks")
def clicks(asked: Asked) -> dict[str, object]:
    number, model = app.state.served
    ids = torch.stack([gnn.hashed([each[at] for each in asked.people], field) for at, field in enumerate(FIELDS)], 1)
    with torch.no_grad():
        return {"export": number, "clicks": model(ids).sigmoid().tolist()}
