"""The checksum of vectors: what it finds, and that every machine and every version comes to the same number."""

from __future__ import annotations

import random
import zlib

import pytest

from gradstream.wire.transport import checksum
from gradstream.wire.transport.checksum import PART

LENGTHS = [0, 1, 7, 8, 9, 4096, PART - 1, PART, PART + 1, 2 * PART + 13]


def data(length: int, seed: int = 0) -> bytearray:
    return bytearray(random.Random(seed).randbytes(length))


def plain(part: bytes) -> int:
    """The definition, word by word."""
    words = [int.from_bytes(part[at : at + 8], "little") for at in range(0, len(part), 8)]
    return sum(word * place(number) for number, word in enumerate(words)) % 2**64


def place(number: int) -> int:
    mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return mixed ^ mixed >> 31 | 1


def of_vector(vector: bytes | bytearray) -> int:
    return checksum.of_parts([checksum.of_part(part) for part in parts_of(vector)])


def parts_of(vector: bytes | bytearray) -> list[memoryview]:
    return [memoryview(vector)[at : at + PART] for at in range(0, len(vector), PART)]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 4099])
def test_the_sum_of_a_part_is_what_is_written(length: int) -> None:
    part = data(length)
    assert checksum.of_part(memoryview(part)) == plain(bytes(part))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_vector_is_summed_part_by_part(length: int) -> None:
    vector = data(length)
    sums = [plain(bytes(part)) for part in parts_of(vector)]
    assert of_vector(vector) == zlib.crc32(b"".join(total.to_bytes(8, "little") for total in sums))


@pytest.mark.parametrize("length", [1, 9, PART, PART + 1])
def test_damage_is_found(length: int) -> None:
    chance = random.Random(length)
    good = data(length)
    right = of_vector(good)
    for _ in range(200):
        bad = bytearray(good)
        bad[chance.randrange(length)] ^= 1 << chance.randrange(8)
        assert of_vector(bad) != right
    first, second = 8 * chance.randrange(max(1, length // 16)), 8 * (length // 16)
    swapped = bytearray(good)
    swapped[first : first + 8], swapped[second : second + 8] = good[second : second + 8], good[first : first + 8]
    assert (of_vector(swapped) == right) == (swapped == good)


def test_two_bits_that_flip_in_opposite_directions_are_found() -> None:
    good = bytearray(8192)
    good[0] = 1
    bad = bytearray(8192)
    bad[4096] = 1
    assert of_vector(good) != of_vector(bad)


def test_parts_that_changed_places_are_found() -> None:
    one, other = data(PART, 1), data(PART, 2)
    assert of_vector(one + other) != of_vector(other + one)
