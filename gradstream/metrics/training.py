"""Metrics of training and of evaluations."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric
from gradstream.metrics.figures import define_figures

LOSS = define_metric("train/loss", "Training loss", "loss", "Mini-batch loss before the step, by worker", "lower")
STALENESS = define_metric(
    "train/staleness", "Staleness", "updates", "Changes of the center between a push's pull and its application", "lower"
)
THROUGHPUT = define_metric(
    "train/samples_per_second",
    "Throughput",
    "samples/s",
    "Samples trained per second, in the last 5 s or 4 pushes, by worker",
    "higher",
)
STALENESS_SECONDS = define_metric(
    "train/staleness_seconds",
    "Staleness in seconds",
    "s",
    "Time for which a push's base had not been the newest center when it was applied",
    "lower",
)
BASE_DISTANCE = define_metric(
    "train/base_distance",
    "Distance to the center",
    "1",
    "L2 norm of the center just before a push is applied minus its base, of a sample of pushes",
    "lower",
)
LOSS_SCALE = define_metric("train/loss_scale", "Loss scale", "1", "Factor on the loss in float16, by worker", drawn=False)
OVERFLOWS = define_metric("train/overflows", "Overflows", "mini-batches", "Overflows in float16 so far, by worker", drawn=False)
TOTAL = define_metric(
    "train/total_samples", "Total samples", "samples", "Samples that the whole job trains, unless it is stopped", drawn=False
)
EPOCH = define_metric(
    "train/epoch_samples", "Samples of an epoch", "samples", "Samples of one pass of all workers over the data", drawn=False
)
SHARE = define_metric(
    "train/share",
    "Total mini-batches",
    "mini-batches",
    "Mini-batches of a worker in the whole job, unless it is stopped; their mean if they are dealt",
    drawn=False,
)
ACTIVE = define_metric(
    "train/active", "Worker participates", "1", "1 while a worker takes part, 0 after it has left for good, by worker", drawn=False
)
EVAL_ACCURACY = define_metric(
    "eval/accuracy", "Eval accuracy", "1", "Share of the evaluation split that the center classifies correctly", "higher"
)
EVAL_LOSS = define_metric("eval/loss", "Eval loss", "loss", "Loss of the center on the evaluation split", "lower")
define_metric("eval/mse", "Eval MSE", "1", "Mean squared error, over the whole evaluation split", "lower")
define_metric("eval/mae", "Eval MAE", "1", "Mean absolute error, over the whole evaluation split", "lower")
define_metric(
    "eval/perplexity", "Eval perplexity", "1", "Exponential of the mean cross-entropy, over the whole evaluation split", "lower"
)
OBSERVED = define_figures("train", "Training", "the last 100,000 examples that workloads observed, each before its step")
PASSED = define_figures("pass", "Pass:", "all examples of a pass over the data, each predicted before its step")
EVALUATED = define_figures("eval", "Eval", "the whole evaluation split")
