"""The Python SDK: what REST offers, as typed methods that raise `gradstream.errors`.

    with Client() as client:
        job = client.submit("circle/job.yaml")
        job = client.wait(job)
        client.download(job, "model.safetensors", into="models")

The command line is written on top of it, so whatever a command does, a program can do.
"""

from gradstream.api.history import Artifact, Event, JobExport, LogChunk, Process
from gradstream.api.jobs import Job, JobSummary
from gradstream.api.media import JobMedia, MediaItem
from gradstream.api.model.parameters import JobParameters
from gradstream.api.model.updates import StoredUpdateSample, UpdateHistograms
from gradstream.api.plan import Plan
from gradstream.api.platform import BrowserSession, Collection, CreatedToken, Node, PlatformStorage, SignInLink, Token
from gradstream.api.progress import Progress
from gradstream.api.tables import JobTables, TableKey
from gradstream.client.client import Client
from gradstream.client.credentials import Credentials

__all__ = [
    "Artifact",
    "BrowserSession",
    "Client",
    "Collection",
    "CreatedToken",
    "Credentials",
    "Event",
    "Job",
    "JobExport",
    "JobMedia",
    "JobParameters",
    "JobSummary",
    "JobTables",
    "LogChunk",
    "MediaItem",
    "Node",
    "Plan",
    "PlatformStorage",
    "Process",
    "Progress",
    "SignInLink",
    "StoredUpdateSample",
    "TableKey",
    "Token",
    "UpdateHistograms",
]
