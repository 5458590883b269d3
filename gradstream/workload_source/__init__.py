"""The user's code read as text: which workloads it has, which arguments they take, and what a job would fail at.

    code = read_folder(path, whole=True) or read_archive(data) or read_texts(texts)
    found = check_workload(code, spec)              errors and warnings, each with a pointer into the job file
    find_workload(code, "digits:Digits")            one workload, with its arguments and their defaults
    list_workloads(code)                            what a form can offer

Nothing here imports or runs that code, so the API may read what anyone uploads. Where the text does not settle a question
(star imports, metaclasses, classes made by calls, a class of a package on the nodes), nothing is said.
"""

from gradstream.workload_source.check import CodeFindings, check_workload, find_workload, list_workloads
from gradstream.workload_source.classes import StaticArgument, StaticWorkload
from gradstream.workload_source.files import CodeText, read_archive, read_folder, read_texts

__all__ = [
    "CodeFindings",
    "CodeText",
    "StaticArgument",
    "StaticWorkload",
    "check_workload",
    "find_workload",
    "list_workloads",
    "read_archive",
    "read_folder",
    "read_texts",
]
