"""TensorFlow's ParameterServerStrategy, asynchronous: a server, workers, and a coordinator that schedules steps on them.

As in its tutorial "Parameter server training with ParameterServerStrategy", in a custom loop: variables live on the server,
`coordinator.schedule` gives functions to whichever worker is free, and each function makes several steps, as the guide advises, so
that scheduling does not count (`STEPS`). Workers read all images into memory and draw mini-batches from all of them, since every
worker runs the same input function. Steps are counted here, when a function has returned. Kernels take one thread; the pool that
waits for messages has one more than there are workers, as the tutorial sets it. Plain SGD: a gradient goes to the server, which
applies it (`ResourceApplyGradientDescent`)."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

from benchmarks.peers import system, work
from benchmarks.peers.counter import Counter
from benchmarks.peers.system import Told

STEPS = {"mlp": 10, "cnn": 2, "wide": 2}
"""Of one scheduled function."""
AHEAD = 4
"""Scheduled functions for each worker that are not done yet."""


def serve(cluster: str, role: str, rank: int, workers: int) -> None:
    """A worker or the server, without end."""
    _one_thread(workers)
    settings = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=workers + 1)
    tf.distribute.Server(
        tf.train.ClusterSpec(json.loads(cluster)), job_name=role, task_index=rank, protocol="grpc", config=settings
    ).join()


def main(told: Told) -> None:
    system.only_dense(told)
    ports = _free_ports(told.workers + 2)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    cluster = {"chief": hosts[:1], "ps": hosts[1:2], "worker": hosts[2:]}
    roles = [("ps", 0), *(("worker", rank) for rank in range(told.workers))]
    others = [system.in_background(serve, json.dumps(cluster), role, rank, told.workers) for role, rank in roles]
    _one_thread(told.workers)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), task_type="chief", task_id=0)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    ended = threading.Event()
    system.when_told_to_end(ended.set)
    train(told, strategy, coordinator, ended)
    for other in others:
        other.kill()
    os._exit(0)  # its threads would wait for the workers


def train(told: Told, strategy: Any, coordinator: Any, ended: threading.Event) -> None:
    item, steps = work.ITEMS[told.item], STEPS[told.item]
    with strategy.scope():
        parameters = [tf.Variable(value) for value in _initial(told.item)]
    iterator = iter(coordinator.create_per_worker_dataset(lambda: _dataset(told)))

    def step(batch: Any) -> Any:
        images, labels = batch
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, _forward(told.item, parameters, images))
            loss = tf.reduce_mean(losses)
        for parameter, gradient in zip(parameters, tape.gradient(loss, parameters), strict=True):
            tf.raw_ops.ResourceApplyGradientDescent(var=parameter.handle, alpha=told.lr, delta=gradient)
        return loss

    @tf.function
    def several(batches: Any) -> Any:
        loss = tf.constant(0.0)
        for _ in tf.range(steps):
            loss = strategy.run(step, args=(next(batches),))
        return loss

    counter = Counter(told.folder)
    ahead = deque(coordinator.schedule(several, args=(iterator,)) for _ in range(AHEAD * told.workers))
    while not ended.is_set():
        loss = ahead.popleft().fetch()
        counter.add(steps * item.batch, float(loss), steps)
        ahead.append(coordinator.schedule(several, args=(iterator,)))


def _dataset(told: Told) -> Any:
    """Runs on each worker: images that it reads itself, not constants in a graph."""
    item = work.ITEMS[told.item]
    labels_at = work.place(told.data, "train", work.LABELS)
    raw = tf.io.read_file(str(work.place(told.data, "train", work.IMAGES)))
    images = tf.reshape(tf.io.decode_raw(raw, tf.float32), (-1, *_shape(item)))
    labels = tf.io.decode_raw(tf.io.read_file(str(labels_at)), tf.int64)
    size = labels_at.stat().st_size // 8
    order = tf.data.Dataset.range(size).shuffle(size).repeat().batch(item.batch, drop_remainder=True)
    return order.map(lambda chosen: (tf.gather(images, chosen), tf.gather(labels, chosen))).prefetch(4)


def _shape(item: work.Item) -> tuple[int, ...]:
    """Of an image; channels last, as TensorFlow's kernels for CPUs want them."""
    return item.shape if len(item.shape) == 1 else (*item.shape[1:], item.shape[0])


def _initial(name: str) -> list[np.ndarray]:
    """Weights and biases as PyTorch draws them: uniform, up to 1 / sqrt(inputs)."""
    dense = {"mlp": [784, 500, 300, 10], "wide": [784, 4096, 4096, 10], "cnn": [9216, 128, 10]}[name]
    shapes: list[tuple[int, ...]] = list(itertools.pairwise(dense))
    if name == "cnn":
        shapes = [(3, 3, 1, 32), (3, 3, 32, 64), *shapes]
    generator, made = np.random.default_rng(1), []
    for shape in shapes:
        bound = np.prod(shape[:-1]) ** -0.5
        made += [generator.uniform(-bound, bound, size).astype(np.float32) for size in (shape, shape[-1:])]
    return made


def _forward(name: str, parameters: Sequence[Any], x: Any) -> Any:
    """The scores of a batch."""
    pairs = list(zip(parameters[::2], parameters[1::2], strict=True))
    if name == "cnn":
        for weight, bias in pairs[:2]:
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weight, 1, "VALID"), bias))
        x = tf.reshape(tf.nn.max_pool2d(x, 2, 2, "VALID"), (-1, 9216))
        pairs = pairs[2:]
    for weight, bias in pairs[:-1]:
        x = tf.nn.relu(tf.matmul(x, weight) + bias)
    return tf.matmul(x, pairs[-1][0]) + pairs[-1][1]


def _one_thread(workers: int) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(workers + 1)


def _free_ports(count: int) -> list[int]:
    """Free when asked for. Held together, so that no two are the same."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
