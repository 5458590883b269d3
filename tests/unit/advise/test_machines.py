"""Warnings that need the machine, or the model's size."""

from __future__ import annotations

from gradstream.advise.machines import codec_that_adds_bytes, too_many_evaluator_processes, too_many_threads
from gradstream.sim.toys import job


def test_more_threads_than_cores() -> None:
    spec = job({"name": "sync"}, workers=2, roles={"worker": {"count": 2, "threads": 64}})
    [warning] = too_many_threads(spec, "vm", 2, 4)
    assert warning.pointer == "/roles/worker/threads"
    assert "want 128 cores of vm, which has 4" in warning.message
    assert warning.remedy == "Set it to 2."
    assert not list(too_many_threads(spec, "big", 2, 128))
    hogwild = job({"name": "adag"}, workers=2, roles={"worker": {"count": 2, "threads": 2, "hogwild": 4}})
    [warning] = too_many_threads(hogwild, "vm", 2, 8)
    assert (warning.pointer, warning.remedy) == ("/roles/worker/hogwild", "Set it to 2.")
    group = job({"name": "sync"}, workers=1, roles={"worker": {"group": {"fsdp": 4}}})
    [warning] = too_many_threads(group, "vm", 1, 2)
    assert warning.message.startswith("1 worker with 4 processes wants 4 cores of vm")
    assert (warning.pointer, warning.remedy) == ("/roles/worker/group", "Set it to 2.")
    assert not list(too_many_threads(job({"name": "sync"}, workers=9), "vm", 9, 2)), "one thread each is the least there is"


def test_more_processes_of_an_evaluator_than_cores_beside_the_workers() -> None:
    spec = job({"name": "sync"}, workers=2, roles={"worker": {"count": 2, "threads": 2}}, evaluate={"processes": 5})
    [warning] = too_many_evaluator_processes(spec, "vm", 2, 8)
    assert warning.pointer == "/evaluate/processes"
    assert warning.message.startswith("5 processes of the evaluator and 4 threads of workers want 9 cores of vm, which has 8")
    assert warning.remedy == "Set it to 4."
    assert not list(too_many_evaluator_processes(spec, "big", 2, 9))
    assert not list(too_many_evaluator_processes(job({"name": "sync"}, workers=9), "vm", 9, 2)), "one is the least there is"


def test_a_codec_whose_blocks_are_longer_than_the_model() -> None:
    spec = job({"name": "async"}, codec={"name": "fp16"})
    [warning] = codec_that_adds_bytes(spec, 322)
    assert (warning.pointer, warning.remedy) == ("/codec", "Take raw.")
    assert "322 parameters take 2,052 bytes as fp16 and 1,288 as they are" in warning.message
    assert "larger by 59%" in warning.message
    assert not list(codec_that_adds_bytes(spec, 100_000))
    assert not list(codec_that_adds_bytes(job({"name": "async"}), 1)), "raw adds nothing"
