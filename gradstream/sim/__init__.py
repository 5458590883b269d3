"""A deterministic cluster in virtual time: the shard machine, replica, link and loop of the platform, without processes,
sockets or clocks. The same job, problem and seed give the same bits.

    from gradstream import sim
    from gradstream.sim.toys import Toy, job

    run = sim.run(job({"name": "adag", "window": 5, "lr": 0.01}, workers=4), Toy, events=40)
    run.center, run.version, run.staleness
"""

from gradstream.sim.agenda import WorkerFailure
from gradstream.sim.cluster import Stuck
from gradstream.sim.result import Result, SimulatedCheckpoint
from gradstream.sim.running import Diverged, run
from gradstream.sim.times.costs import Costs
from gradstream.sim.times.service import Schedule
from gradstream.sim.view import View

__all__ = ["Costs", "Diverged", "Result", "Schedule", "SimulatedCheckpoint", "Stuck", "View", "WorkerFailure", "run"]
