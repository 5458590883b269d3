"""Worker 0's connections to the other workers: one for each incarnation that has rung its doorbell."""

from __future__ import annotations

from pathlib import Path

from gradstream.errors import PlaneLost
from gradstream.serverless.holder.doorbell import DoorbellWriter, Ring
from gradstream.serverless.holder.memory import Messages, doorbell_file, messages_file
from gradstream.shard_server.response_messages import Incarnation
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.shm import Shared, vectors_file


class WorkerConnection:
    """The memory of one incarnation, and how far both sides have come."""

    def __init__(self, vectors: Shared, messages: Messages, doorbell: DoorbellWriter) -> None:
        self.vectors: Shared | None = vectors
        """None: the incarnation is over."""
        self._messages, self._doorbell = messages, doorbell
        self._responses: list[bytes] = []
        """Those that wait until the last message was taken."""
        self._written = self._taken = 0
        """Messages of worker 0, and messages of the other that worker 0 has taken."""
        self._written_taken = self._taken_rung = 0
        """The first, as far as the other has taken them; the second, as far as worker 0 has rung so."""
        self._with_vector = 0
        """The last message of worker 0 that names a vector."""

    @property
    def reads_vector(self) -> bool:
        """The other worker may still copy from a vector that a message named."""
        return self.vectors is not None and self._written_taken < self._with_vector

    def take_entries(self, ring: Ring) -> list[bytes]:
        """Return the packed headers that a ring announces. Raises: PlaneLost."""
        self._written_taken = max(self._written_taken, ring.taken)
        if ring.written <= self._taken:
            return []
        self._taken = ring.written
        return self._messages.read()

    def add_response(self, packed: bytes, *, vector: bool) -> None:
        self._responses.append(packed)
        if vector:
            self._with_vector = self._written + 1

    def flush(self) -> bool:
        """Hand over the responses if the last ones were taken, and say which entries were. False: the other process is gone.
        Raises: PlaneLost."""
        if self._responses and self._written_taken >= self._written:
            self._messages.write(self._responses)
            self._responses = []
            self._written += 1
        elif self._taken_rung == self._taken:
            return True
        return self.ring()

    def ring(self) -> bool:
        """False: the other process is gone."""
        self._taken_rung = self._taken
        return self._doorbell.ring(Ring(0, 0, self._written, self._taken))


class WorkerConnections:
    def __init__(self, folder: Path, layout: Layout, workers: int, responses: int) -> None:
        """`responses`: vectors for responses in each worker's memory."""
        self._folder, self._layout, self._workers, self._responses = folder, layout, workers, responses
        self._there: dict[Incarnation, WorkerConnection] = {}

    def take_entries(self, ring: Ring) -> list[bytes]:
        """Return the packed headers that a ring announces. Raises: PlaneLost."""
        incarnation = ring.rank, ring.incarnation
        if not 0 < ring.rank < self._workers:  # user code may have written anything
            return []
        if incarnation not in self._there and not self._open(incarnation):
            return []
        return self._there[incarnation].take_entries(ring)

    def _open(self, incarnation: Incarnation) -> bool:
        """False: its process is gone. Raises: PlaneLost."""
        messages, doorbell = messages_file(self._folder, *incarnation), doorbell_file(self._folder, *incarnation)
        try:
            if writer := DoorbellWriter.find(doorbell):
                vectors = Shared.open(self._folder, *incarnation, self._layout, self._responses)
                self._there[incarnation] = WorkerConnection(vectors, Messages.open(messages), writer)
            for file in (messages, doorbell, vectors_file(self._folder, *incarnation)):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise PlaneLost(f"the shared memory of worker {incarnation[0]}.{incarnation[1]}: {error}") from error
        return writer is not None

    def vectors(self, incarnation: Incarnation) -> Shared:
        """Raises: PlaneLost: the incarnation is over, and its entry came too late."""
        connection = self._there.get(incarnation)
        if connection is None or connection.vectors is None:
            raise PlaneLost(f"worker {incarnation[0]}.{incarnation[1]} has sent an entry before it joined")
        return connection.vectors

    @property
    def read_vectors(self) -> bool:
        """A worker may still copy from a vector that a message named."""
        return any(connection.reads_vector for connection in self._there.values())

    def add_response(self, incarnation: Incarnation, packed: bytes, *, vector: bool) -> None:
        """To an incarnation that has no connection, nothing is sent: it was lost before it rang."""
        if connection := self._there.get(incarnation):
            connection.add_response(packed, vector=vector)

    def flush(self) -> None:
        """Raises: PlaneLost."""
        for incarnation, connection in list(self._there.items()):
            if not connection.flush() and connection.vectors is None:
                del self._there[incarnation]

    def end(self, incarnation: Incarnation) -> None:
        """An incarnation is over: free its vectors. If its process still lives, it hears that its later entries are fenced."""
        if connection := self._there.get(incarnation):
            connection.vectors = None
        for ended, connection in list(self._there.items()):
            if connection.vectors is None and not connection.ring():
                del self._there[ended]
