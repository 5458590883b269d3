"""Compiled loops of the modules on CPUs: distinct ids, rows to outputs, gradients of outputs to rows.

Inner loops run over rows that are taken out first: LLVM makes vector instructions of those, and not of two indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.hashing import mix

_FNV_PRIME = np.uint64(0x100000001B3)


@kernel
def distinct(keys: Any, salt: Any) -> Any:
    """Return the distinct keys in order of first occurrence, and the number among them of each key."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    heads = np.full(size, -1, np.int32)
    found, numbers, count = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64), 0
    for i in range(len(keys)):
        at = np.int64(mix(np.uint64(keys[i]) ^ salt)) & (size - 1)
        while heads[at] >= 0 and found[heads[at]] != keys[i]:
            at = (at + 1) & (size - 1)
        if heads[at] < 0:
            heads[at], found[count] = count, keys[i]
            count += 1
        numbers[i] = heads[at]
    return found[:count].copy(), numbers


@kernel
def count_numbers(numbers: Any, count: Any) -> Any:
    """How often each of `count` numbers occurs; those below 0 are left out."""
    counts = np.zeros(count, np.int64)
    for number in numbers:
        if number >= 0:
            counts[number] += 1
    return counts


@kernel
def add_weights(numbers: Any, weights: Any, count: Any) -> Any:
    """The sum of the weights of each of `count` numbers."""
    sums = np.zeros(count, np.float32)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            sums[numbers[i]] += weights[i]
    return sums


@kernel
def gather(rows: Any, numbers: Any) -> Any:
    """The row of each number; 0 for those below 0."""
    out = np.empty((len(numbers), rows.shape[1]), np.float32)  # zeros first would take four times as long
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            given, row = out[i], rows[numbers[i]]
            for j in range(len(row)):
                given[j] = row[j]
        else:
            out[i] = 0
    return out


@kernel
def scatter_add(gradients: Any, numbers: Any, count: Any) -> Any:
    """Sums of the gradients of each of `count` numbers, in order."""
    sums = np.zeros((count, gradients.shape[1]), np.float32)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            total, gradient = sums[numbers[i]], gradients[i]
            for j in range(len(gradient)):
                total[j] += gradient[j]
    return sums


@kernel
def bag_sums(rows: Any, numbers: Any, bags: Any, weights: Any, count: Any) -> Any:
    """Weighted sums of the rows of each of `count` bags. `bags`, `weights`: of each number."""
    out = np.zeros((count, rows.shape[1]), np.float32)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            total, row = out[bags[i]], rows[numbers[i]]
            for j in range(len(row)):
                total[j] += weights[i] * row[j]
    return out


@kernel
def bag_sums_backward(gradients: Any, numbers: Any, bags: Any, weights: Any, count: Any) -> Any:
    """Gradients of `count` rows."""
    sums = np.zeros((count, gradients.shape[1]), np.float32)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            total, gradient = sums[numbers[i]], gradients[bags[i]]
            for j in range(len(gradient)):
                total[j] += weights[i] * gradient[j]
    return sums


@kernel
def bag_weights_backward(gradients: Any, rows: Any, numbers: Any, bags: Any) -> Any:
    """Gradients of the weights."""
    sums = np.zeros(len(numbers), np.float32)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            row, gradient = rows[numbers[i]], gradients[bags[i]]
            for j in range(len(row)):
                sums[i] += row[j] * gradient[j]
    return sums


@kernel
def bag_largest(rows: Any, numbers: Any, bags: Any, count: Any) -> Any:
    """The largest value of each column in each bag, and the number of the row that it is of; 0 and -1 for an empty bag."""
    out = np.zeros((count, rows.shape[1]), np.float32)
    winners = np.full((count, rows.shape[1]), -1, np.int64)
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            row, largest, winner = rows[numbers[i]], out[bags[i]], winners[bags[i]]
            for j in range(len(row)):
                if winner[j] < 0 or row[j] > largest[j] or row[j] != row[j]:  # NaN wins, as in torch
                    largest[j], winner[j] = row[j], numbers[i]
    return out, winners


@kernel
def bag_largest_backward(gradients: Any, winners: Any, count: Any) -> Any:
    """Gradients of `count` rows."""
    sums = np.zeros((count, gradients.shape[1]), np.float32)
    for i in range(gradients.shape[0]):
        for j in range(gradients.shape[1]):
            if winners[i, j] >= 0:
                sums[winners[i, j], j] += gradients[i, j]
    return sums


@kernel
def hash_texts(data: Any, ends: Any, start: Any) -> Any:
    """FNV-1a of the bytes up to each end, mixed so that similar texts have different buckets."""
    keys, at = np.empty(len(ends), np.int64), 0
    for i in range(len(ends)):
        value = start
        while at < ends[i]:
            value = (value ^ np.uint64(data[at])) * _FNV_PRIME
            at += 1
        keys[i] = np.int64(mix(value))
    return keys
