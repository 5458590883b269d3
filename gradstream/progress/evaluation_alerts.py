"""The sentences about data: evaluations that say less than they seem to, and files that are not read."""

from __future__ import annotations


def not_finite_sentence(metric: str, samples: int, *, ended: bool = False) -> str:
    """The first time for a metric. `metric`: `eval/auc`; `samples`: that the model had seen. `ended`: the job is over."""
    return (
        f"{metric} {'was' if ended else 'is'} not a finite number (first after {samples:,} samples). "
        "Such a value is stored as null, and reaches no target. Look at evaluate() and summarize(): a batch of one class only, a "
        "division by 0, or weights that diverged."
    )


def overlap_sentence(shared: int, compared: int) -> str:
    """`shared` of the `compared` evaluation rows are training rows."""
    return (
        f"{shared:,} of {compared:,} evaluation rows that were compared are training rows, too, so the evaluation says little "
        "about new data. Calls of dataset() get the same random numbers for both splits: draw all rows once and split them."
    )


def late_files_sentence(count: int, *, ended: bool = False) -> str:
    """So many files of a followed folder are never read. `ended`: the job is over; the next one does not read them, either."""
    are = f"{'was' if count == 1 else 'were'} not" if ended else "will not be"
    names = "The log of worker-0 has the names" + (". For the next run," if ended else ";")
    return (
        f"{count:,} {'file' if count == 1 else 'files'} of the followed folder came late and {are} read: their names sort before "
        f"one that was complete earlier. {names} write these rows again under a name that sorts after all others."
    )
