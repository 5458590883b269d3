"""Shortages: what a job lacks to begin, as a reason and a sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.scheduler.placing.machines import Machine, Placeable, groups_fit, open_machines, suitable_machines
from gradstream.spec.values import GPU_TICKS

_FEWER_WORKERS = "use fewer workers (roles.worker.count)"


@dataclass(frozen=True, slots=True)
class Shortage:
    reason: str
    """waiting_for_nodes, no_isolation, draining, node_trouble, too_large, no_capacity, no_gpu, behind; for programs."""
    message: str
    """The same as a sentence."""

    @property
    def passes_by_itself(self) -> bool:
        """Capacity becomes free when running jobs end. Else only another machine, or another job file, would help."""
        return self.reason in ("no_capacity", "no_gpu", "behind")


def name_unusable_gpus(spec: Placeable, connected: Sequence[Machine], short: Shortage) -> Shortage:
    """Return the shortage with the machines whose GPUs the job could use, if their torch could."""
    wants_gpus = spec.roles.worker.effective_device == "cuda" or spec.roles.server.device == "cuda"
    obstacles = [machine.gpu_obstacle for machine in open_machines(suitable_machines(spec, connected)) if machine.gpu_obstacle]
    if not wants_gpus or not obstacles or short.reason not in ("too_large", "no_gpu"):
        return short
    return Shortage(short.reason, " ".join([short.message, *obstacles]))


def find_shortage(spec: Placeable, connected: Sequence[Machine], shard_takes: int) -> Shortage | None:
    """Return what the job lacks on the machines that are connected; None: nothing."""
    if not connected:
        return Shortage("waiting_for_nodes", "No machine is connected; the job starts when one is.")
    connected = suitable_machines(spec, connected)
    if not connected:
        message = "No connected machine has the isolation 'namespace', which `network: platform` needs. See `gradstream nodes`."
        return Shortage("no_isolation", message)
    machines = open_machines(connected)
    drained = ", ".join(machine.name for machine in connected if machine.draining)
    troubled = [machine for machine in connected if machine.trouble and not machine.draining]
    if not machines and not troubled:
        return Shortage("draining", f"All machines drain ({drained}); the job starts when one is resumed or another one connects.")
    if not machines:
        message = f"No machine can take it now; {troubled[0].name} is tried again soon. {troubled[0].trouble}"
        return Shortage("node_trouble", message)
    left_out = [f"those that drain ({drained})"] if drained else []
    left_out += [f"those in trouble ({', '.join(machine.name for machine in troubled)})"] if troubled else []
    beside = f", {' and '.join(left_out)} not counted" if left_out else ""
    workers = spec.roles.worker.count
    if spec.roles.worker.group.machines > 1:
        short = _slots_of_groups(spec, machines, beside)
    elif spec.roles.worker.effective_device == "cuda":
        total, free = _count_fitting(spec, machines)
        remedy = f"{_FEWER_WORKERS}, set roles.worker.device: auto, or {_more_machines('machines with GPUs', drained)}"
        if spec.roles.worker.gpu_processes > 1:
            short = _gpus_of_groups(spec, total, free, beside, remedy)
        else:
            short = _compared(workers, total, free, _gpu(spec.roles.worker.gpu_share), "no_gpu", beside, remedy)
    else:
        total, free = sum(m.slots for m in machines), sum(len(m.free_slots) for m in machines)
        remedy = f"{_FEWER_WORKERS}, or {_more_machines('a machine', drained)}"
        short = _compared(workers, total, free, "slot", "no_capacity", beside, remedy)
    if short is None and spec.roles.server.device == "cuda":
        remedy = f"set roles.server.device: auto to use what fits, or {_more_machines('machines with GPUs', drained)}"
        short = _large_gpus(spec, machines, shard_takes, beside) or _gpus_of_servers(spec, machines, beside, remedy)
    return short


def _gpu(share: int) -> str:
    """Return 1/`share` of a GPU in words: for `_count`."""
    return "GPU" if share == 1 else f"share of 1/{share} GPU"


def _on_one_machine(spec: Placeable) -> str:
    """`4 GPUs on one machine`: all that a group takes on each of its machines."""
    return f"{_count(spec.roles.worker.gpu_processes, _gpu(spec.roles.worker.gpu_share))} on one machine"


def _count_fitting(spec: Placeable, machines: Sequence[Machine]) -> tuple[int, int]:
    """Return for how many workers the machines, empty, have places, and for how many they have free ones."""
    worker = spec.roles.worker
    return sum(m.emptied.count_fitting(worker) for m in machines), sum(m.count_fitting(worker) for m in machines)


def _gpus_of_groups(spec: Placeable, total: int, free: int, beside: str, remedy: str) -> Shortage | None:
    """Return the shortage of GPUs for workers that need several on one machine. `total`, `free`: workers that have such places."""
    workers = spec.roles.worker.count
    what = f"{_on_one_machine(spec)}{'' if workers == 1 else f' for each of its {workers} workers'} (roles.worker.group)"
    if workers > total:
        message = f"Needs {what}, and the connected machines have these for {_count(total, 'worker')}{beside}."
        return Shortage("too_large", f"{message} Use a smaller group, {remedy}.")
    if workers > free:
        return Shortage("no_gpu", f"Waits for {what}; they are free for {_count(free, 'worker')}{beside}.")
    return None


def _more_machines(which: str, drained: str) -> str:
    return f"{'resume a machine that drains, or ' if drained else ''}add {which} (`gradstream join`)"


def _slots_of_groups(spec: Placeable, machines: Sequence[Machine], beside: str) -> Shortage | None:
    """Return the shortage of slots for workers that each have several machines; None: there are enough."""
    workers, each = spec.roles.worker.count, spec.roles.worker.group.machines
    connected = [machine for machine in machines if not machine.cuts_network]
    role = spec.roles.worker
    if groups_fit(workers, each, [machine.count_fitting(role) for machine in connected]):
        return None
    why = f"on {each} machines that let jobs use their network, for its {_count(workers, 'worker')} (roles.worker.group.machines)"
    slots, gpus = _count(workers, "slot"), ""
    if role.effective_device == "cuda":
        gpus = f", with {_count(role.gpu_processes, _gpu(spec.roles.worker.gpu_share))} for each worker,"
    if groups_fit(workers, each, [machine.emptied.count_fitting(role) for machine in connected]):
        reason = "no_gpu" if gpus else "no_capacity"
        return Shortage(reason, f"Waits for {slots.replace('slot', 'free slot')} each{gpus} {why}{beside}.")
    message = (
        f"Needs {slots} each{gpus} {why}, and the {_count(len(connected), 'connected machine')} of this kind have too few{beside}. "
        "Start agents on more machines, with --job-network internet, or set roles.worker.group.machines: 1."
    )
    return Shortage("too_large", message)


def _places_of_workers(spec: Placeable) -> tuple[int, str]:
    """Return how many of which places all workers need."""
    worker = spec.roles.worker
    return (
        (worker.count * worker.gpu_processes, _gpu(spec.roles.worker.gpu_share))
        if worker.effective_device == "cuda"
        else (worker.count, "slot")
    )


def shortage_on_one_machine(spec: Placeable, *, fits: bool) -> Shortage:
    """Return the shortage of a job whose workers need one machine. `fits`: one is large enough, when nothing else runs there."""
    needed, thing = _places_of_workers(spec)
    why = "on one machine, as it has no servers and its workers share memory (roles.server.count: 0)"
    if fits:
        return Shortage("no_capacity", f"Waits for {_count(needed, f'free {thing}')} {why}.")
    message = (
        f"Needs {_count(needed, thing)} {why}, and no connected machine has as many. Use fewer workers, or set "
        "roles.server.count: 1."
    )
    return Shortage("too_large", message)


def shortage_without_network(spec: Placeable, *, fits: bool) -> Shortage:
    """Return the shortage of a job whose workers need one machine, or several whose jobs can connect to each other. `fits`: these
    are large enough, when nothing else runs there."""
    needed, thing = _places_of_workers(spec)
    why = "on machines that let jobs use their network, as its workers connect to each other (roles.server.count: 0)"
    if fits:
        return Shortage("no_capacity", f"Waits for {_count(needed, f'free {thing}')} {why}.")
    message = (
        f"Needs {_count(needed, thing)} {why}, and those that are connected have fewer. Use fewer workers, start "
        "agents with --job-network internet, or set roles.server.count: 1."
    )
    return Shortage("too_large", message)


def _large_gpus(spec: Placeable, machines: Sequence[Machine], takes: int, beside: str) -> Shortage | None:
    share = spec.roles.shard_gpu_share
    large = share * sum(len(m.large_enough(m.every_gpu, takes * share)) for m in machines)
    if not takes or spec.roles.server.shards <= large:
        return None
    needed = f"{_count(spec.roles.server.shards, _gpu(share))} with {takes / 1e9:.1f} GB for its shards"
    remedy = "Raise roles.server.count" if share == 1 else "Raise roles.server.count or roles.server.gpu"
    message = (
        f"Needs {needed}, and all connected machines together have {large}{beside}. {remedy}, or set roles.server.device: cpu, or "
        "auto to use what fits."
    )
    return Shortage("too_large", message)


def _gpus_of_servers(spec: Placeable, machines: Sequence[Machine], beside: str, remedy: str) -> Shortage | None:
    """Return the shortage of GPUs for the servers, counted with those of the workers, for which there are enough; None: none."""
    worker = spec.roles.worker
    with_workers = worker.effective_device == "cuda"
    ticks = spec.roles.server.shards * (GPU_TICKS // spec.roles.shard_gpu_share)
    if with_workers:
        ticks += worker.count * worker.group.machines * worker.gpu_processes * (GPU_TICKS // worker.gpu_share)
    gpus, free = sum(m.gpus for m in machines), sum(sum(m.free_ticks.values()) for m in machines)
    if ticks <= free:
        return None
    for_whom = f"{', those of its workers included' if with_workers else ''} (roles.server.device: cuda; cpu needs none)"
    return _compared(-(-ticks // GPU_TICKS), gpus, free // GPU_TICKS, "GPU", "no_gpu", beside, remedy, for_whom)


def _compared(
    needed: int, total: int, free: int, thing: str, short: str, beside: str, remedy: str, for_whom: str = ""
) -> Shortage | None:
    if needed > total:
        message = f"Needs {_count(needed, thing)}{for_whom}, and all connected machines together have {total}{beside}."
        return Shortage("too_large", f"{message} {remedy[0].upper()}{remedy[1:]}.")
    if needed > free:
        what = f"{_count(needed, f'free {thing}')}{for_whom}"
        return Shortage(short, f"Waits for {what}; {free} of {total} {_are(free)} free{beside}.")
    return None


def _count(n: int, thing: str) -> str:
    """`2 slots`, `2 shares of 1/4 GPU`"""
    head, of, rest = thing.partition(" of ")
    return f"{n} {head}{'s' * (n != 1)}{of}{rest}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
