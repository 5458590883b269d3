"""The mini-batches of a Kafka topic that belong to one worker.

Each is a piece of a partition: `batch_size` consecutive offsets. Which worker learns it hangs on its offsets alone, so no two
workers have to agree on anything. The place of a worker, an offset for each partition, travels with its pushes.
"""

from __future__ import annotations

from typing import Any

from gradstream.center.positions import Place
from gradstream.data.kafka_topic.topic import KafkaTopic
from gradstream.errors import InvalidWorkload
from gradstream.input.followed.counted import CountedPasses
from gradstream.input.gather import PLAIN, Batching
from gradstream.spec import JobSpec


class FollowedTopic(CountedPasses):
    """Implements `Feed` and `FollowedFeed`."""

    def __init__(self, dataset: KafkaTopic, spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        super().__init__(dataset.name, dataset, dataset.pass_size, spec, batching)
        self._dataset, self._rank = dataset, rank
        self._reader = dataset.reader(spec.batch_size, rank, spec.roles.worker.count)
        self._taken = 0
        """Mini-batches that this rank has taken."""

    @property
    def leaderless(self) -> tuple[int, ...]:
        return self._reader.leaders.missing

    @property
    def is_unreachable(self) -> bool:
        return self._reader.is_unreachable

    def has(self, position: int) -> bool:
        """Return whether this mini-batch, and the rest of its round, is there. Raises: InvalidWorkload."""
        self._check_place(position)
        return self._reader.fetch(self._end_of_round(position) - position)

    def behind(self, position: int) -> int:
        """Return the offsets that are there and still to be learned, over the number of workers."""
        return self._reader.behind()

    def take(self, position: int) -> tuple[Any, int]:
        """Raises: InvalidWorkload: it is not there."""
        self._check_place(position)
        if not self._reader.fetch(1):
            raise InvalidWorkload(
                f"{self._dataset.name} has no mini-batch number {position} for worker {self._rank} yet, and only a job waits for it"
            )
        messages = self._reader.take().messages
        self._taken += 1
        return self._dataset.decode(messages), len(messages)

    def place(self) -> Place:
        return self._reader.place

    def go_to(self, position: int, place: Place) -> None:
        self._taken = position
        self._reader.go_to(place)

    def state(self) -> dict[str, Any]:
        return {"position": self._taken, "place": self.place(), "topic_id": self._reader.topic_id}

    def load(self, state: dict[str, Any]) -> None:
        if state:
            self.go_to(state["position"], tuple((offset, time) for offset, time in state["place"]))
            self._reader.topic_id = state["topic_id"]

    def _check_place(self, position: int) -> None:
        """Raises: InvalidWorkload."""
        if position != self._taken:
            raise InvalidWorkload(
                f"{self._dataset.name} is at mini-batch {self._taken} of worker {self._rank}, and number {position} is not "
                "found by counting"
            )
