"""The sentences about evaluations that say less than they seem to."""

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
