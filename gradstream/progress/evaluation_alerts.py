"""The sentences about data: evaluations that say less than they seem to, and files that are not read."""

from __future__ import annotations


def not_finite_sentence(metric: str, samples: int) -> str:
    """The first time for a metric. `metric`: `eval/auc`; `samples`: that the model had seen."""
    return (
        f"{metric} is not a finite number (first after {samples:,} samples). It is stored as null, and a target on it "
        "is not reached. Look at evaluate() and summarize(): a batch of one class only, a division by 0, or weights that diverged."
    )


def overlap_sentence(shared: int, compared: int) -> str:
    """`shared` of the `compared` evaluation rows are training rows."""
    return (
        f"{shared:,} of {compared:,} evaluation rows that were compared are training rows, too, so the evaluation says little "
        "about new data. Calls of dataset() get the same random numbers for both splits: draw all rows once and split them."
    )


def late_files_sentence(count: int) -> str:
    """So many files of a followed folder are never read."""
    return (
        f"{count:,} {'file' if count == 1 else 'files'} of the followed folder came late and will not be read: their names sort "
        "before one that was complete earlier. The log of worker-0 has the names; write these rows again under a name that sorts "
        "after all others."
    )
