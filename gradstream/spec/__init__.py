"""The job file. One model: the YAML file, the REST body, the JSON Schema, the web form and the docs all come from it.

`gradstream.jobfile` reads one and explains mistakes; unknown keys are mistakes.
"""

from gradstream.spec.cadence import Cadence, Checkpointing, Evaluate, Exporting
from gradstream.spec.input import Data, WorkloadRef
from gradstream.spec.job import JobSpec, Retention
from gradstream.spec.roles import Roles, ServerRole, WorkerRole
from gradstream.spec.start import StartFrom
from gradstream.spec.stopping import Best, Stop, Target

__all__ = [
    "Best",
    "Cadence",
    "Checkpointing",
    "Data",
    "Evaluate",
    "Exporting",
    "JobSpec",
    "Retention",
    "Roles",
    "ServerRole",
    "StartFrom",
    "Stop",
    "Target",
    "WorkerRole",
    "WorkloadRef",
]
