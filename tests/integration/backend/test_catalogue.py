"""What a job can be made of, as the API tells it: everything comes from the unions."""

from __future__ import annotations

import httpx

from gradstream.codecs import CODECS
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES


def test_every_strategy_is_told_with_its_settings(api: httpx.Client) -> None:
    answer = api.get("/strategies")
    assert answer.status_code == 200
    told = {each["name"]: each for each in answer.json()}
    assert list(told) == list(STRATEGIES)
    for name, cls in STRATEGIES.items():
        assert told[name]["summary"] == cls.summary()
        assert set(told[name]["gates"]) == cls.gates
        assert set(told[name]["schema"]["properties"]) == set(cls.model_fields)
    assert told["eamsgd"]["optimizers"] == []


def test_the_schema_of_a_job_knows_every_strategy_and_codec(api: httpx.Client) -> None:
    schema = api.get("/schema/job").json()
    assert set(schema["properties"]) == set(JobSpec.model_fields)
    assert set(schema["properties"]["strategy"]["discriminator"]["mapping"]) == set(STRATEGIES)
    assert set(schema["properties"]["codec"]["discriminator"]["mapping"]) == set(CODECS)


def test_examples_are_ready_to_submit(api: httpx.Client) -> None:
    for example in api.get("/examples").json():
        checked = api.post("/jobs/validate", json={"yaml": example["yaml"]}).json()
        assert checked["valid"], checked["errors"]
        assert len(example["bundle"]) == 64
