"""The metrics of observations: a metric of each figure, in several groups."""

from __future__ import annotations

from gradstream.metrics.definition import CATALOGUE, Better, Metric, define_metric

_FIGURES: dict[str, tuple[str, str, str, Better]] = {
    "auc": ("AUC", "1", "Share of the pairs of a positive and a negative whose predictions are in order", "higher"),
    "log_loss": ("Log loss", "nats", "Mean log loss of the predictions", "lower"),
    "normalized_entropy": ("Normalized entropy", "1", "Log loss over that of predicting the mean of the labels", "lower"),
    "calibration": ("Calibration", "1", "Mean prediction over the mean of the labels; 1 is right", "neither"),
    "accuracy": ("Accuracy", "1", "Share of the predictions that are on the side of .5 of their label", "higher"),
    "precision": ("Precision", "1", "Share of positives among predictions of at least .5", "higher"),
    "recall": ("Recall", "1", "Share of the positives that have a prediction of at least .5", "higher"),
    "f1": ("F1", "1", "Harmonic mean of precision and recall, at a prediction of .5", "higher"),
    "average_precision": ("Average precision", "1", "Precision at each threshold, weighted by its positives", "higher"),
}
"""Title, unit, meaning and better side of what `gradstream.observations.figures` gives."""


def define_figures(group: str, title: str, of: str) -> dict[str, Metric]:
    """Return the metrics of a group by figure."""
    found = {key: (f"{group}/{key}", *figure) for key, figure in _FIGURES.items()}
    return {
        key: CATALOGUE.get(name) or define_metric(name, f"{title} {_lower(own)}", unit, f"{meaning}, of {of}", better)
        for key, (name, own, unit, meaning, better) in found.items()
    }


def _lower(title: str) -> str:
    return title if title.isupper() else title[0].lower() + title[1:]
