"""The other peers of a group, as the lead has them: it asks all of them, computes its own part, and then takes their answers."""

from __future__ import annotations

import logging
import multiprocessing
import os
import select
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from torch import Tensor

from gradstream.errors import GradstreamError, ProcessLost
from gradstream.group.machines.machine_link import MachineLink, describe_break
from gradstream.group.peer import Failed, PeerName, PeerWork, serve
from gradstream.group.requests import Request
from gradstream.input import tensor_pipe
from gradstream.process import exits
from gradstream.process.exits import EXIT_CODES, ExitReason, UserError
from gradstream.process.labelled_output import LabelledOutput
from gradstream.process.watchdogs.stacks import StackDump
from gradstream.process.watchdogs.step import describe_hang
from gradstream.spec import JobSpec

log = logging.getLogger(__name__)

_LOOK_INTERVAL = 30.0
"""Seconds of waiting for a peer, after which each look says so in the log."""
_FROZEN_LOOK, _FROZEN_AFTER = 5, 60
"""Seconds for which a peer takes no byte of a request, or sends no byte of an answer that it has begun: between two lines of the
log, and until it counts as frozen. A peer that waits for requests takes them at once."""
_SOON = 5
"""Milliseconds for which a wait looks at one file alone, which is quicker than to look at all peers."""
_LAST_LINES_WITHIN = 1.0
"""Seconds until the last lines that peers wrote are in the log."""
_ENDED_BY_FAULTHANDLER = 1
"""Its exit code."""
_ENDS_WITHIN = 5.0
"""Seconds that a peer whose pipe is closed may take to end."""


class PeerLost(ProcessLost):
    """A process of a group has ended, and with it the whole group: its lead ends, too."""


class PeerHung(PeerLost):
    """It has ended by itself, as its user code did not return from a step."""


class MachineLost(PeerLost):
    """The connection to the group's processes on another machine broke."""


class PeerFailed(ProcessLost):
    """An error of the platform has ended the work of a peer. It is none of user code, also if the lead is in user code."""


class Peers:
    """The processes of a group beside its lead. On another machine than the lead's: beside the first one there."""

    def __init__(
        self,
        problem: PeerWork,
        count: int,
        spec: JobSpec,
        label: str,
        rank: int,
        folder: Path | None = None,
        threads: int | None = None,
    ) -> None:
        """Fork them. `count`: processes of the group on this machine, with this one. `problem`: each peer gets it with its own copy
        of all memory but that of a `shared_vector`. `threads`: of torch; None: those of a worker.

        Call it in the main thread, since they end with the thread that forked them, and before torch has computed with several
        threads here: a child cannot use those. Raises: OSError."""
        context = multiprocessing.get_context("fork")
        self.count = count
        """Processes of the group on this machine, with this one."""
        self._label, self._folder, self._name_of = label, folder, problem.name_of
        self._kind = label.partition("-")[0]
        """worker, evaluator."""
        self._pipes, self._processes = dict[int, Connection](), list[Any]()
        self._machines = dict[int, MachineLink]()
        self._timeout = spec.roles.worker.step_timeout
        self._dumps = [StackDump(folder) if folder and self._timeout else None for _ in range(1, count)]
        self._output = LabelledOutput()
        self._asked, self._early = set[int](), dict[int, Any]()
        """Peers that have not answered yet, and answers that came before they were asked for."""
        self._looks = 0
        """Times that a wait for a sum has been in the log."""
        self.is_waiting = False
        """The lead waits for the others."""
        self.wait_seconds = 0.0
        """Spent waiting for peers so far."""
        for number in range(1, count):
            here, there = context.Pipe()
            ends = self._output.add(f"[peer {self._name_of(number)}] ")
            begin = partial(self._output.begin_child, ends)
            name = PeerName(number, label, rank, threads or spec.roles.worker.threads, folder, self._dumps[number - 1])
            args = name, problem, spec, there, os.getpid(), begin
            process = context.Process(target=serve, args=args, name=f"peer-{number}", daemon=True)
            process.start()
            there.close()
            self._output.close_ends(ends)
            os.set_blocking(here.fileno(), False)  # so that a peer that is frozen does not block the lead without an end
            self._pipes[number] = here
            self._processes.append(process)
        self._output.start()

    def join(self, number: int, pipe: Connection) -> None:
        """Take in the first process of another machine, which answers for all of them there. `number`: its own in the group."""
        self._machines[number] = MachineLink(pipe, f"machine of peer {number}", partial(self._wait_for_peer, number))

    @property
    def on_other_machines(self) -> list[int]:
        """Numbers of the processes that answer for those of another machine, in their order."""
        return list(self._machines)

    def ask(self, number: int, request: Request, theta: Tensor | None = None) -> None:
        """Send a request to a peer, from 1. Waits while it takes some of it now and then, but for none on another machine.
        `theta`: follows a request to another machine. Raises: PeerLost."""
        if link := self._machines.get(number):
            link.ask(request, theta)
        else:
            with self._expected(number):
                tensor_pipe.send(self._pipes[number], request, partial(self._wait_for_peer, number))
        self._asked.add(number)

    def ask_all(self, request: Request) -> list[Any]:
        """Return the answers of all peers, and of other machines, to one request. Raises: as `ask` and `answer`."""
        return self.ask_each(dict.fromkeys([*self._pipes, *self._machines], request))

    def ask_each(self, requests: Mapping[int, Request]) -> list[Any]:
        """Return the answers to these requests, by the numbers of their peers, in this order. Raises: as `ask` and `answer`."""
        for number, request in requests.items():
            self.ask(number, request)
        return [self.answer(number) for number in requests]

    def answer(self, number: int) -> Any:
        """Return the answer of a peer to its last request. Waits as long as it computes. Raises: PeerLost; UserError."""
        began = time.monotonic()
        while number not in self._early:
            self._take_early(began)
        return self._early.pop(number)

    def add_gradient(self, number: int, total: Tensor) -> None:
        """Add the gradient that follows the answer of another machine, as it comes. Raises: PeerLost."""
        pieces = self._machines[number].take_pieces()
        while True:
            with self._expected(number), self.waiting():
                came = next(pieces, None)
            if came is None:
                return
            piece, gradient = came
            total[piece] += gradient

    def receive(self, pipe: Connection, number: int) -> Any:
        """Return the next value from a pipe to the peer with this number. Raises: PeerLost; UserError of any peer."""
        began = time.monotonic()
        while not self._take_early(began, pipe):
            pass
        with self._expected(number):
            return tensor_pipe.receive(pipe)

    def wait_for(self, file: int) -> None:
        """Wait until something can be read from this file, in which peers write. Raises: PeerLost; UserError of any peer."""
        began = time.monotonic()
        soon = select.poll()
        soon.register(file, select.POLLIN)
        with self.waiting():
            is_there = bool(soon.poll(_SOON))
        while not is_there:
            is_there = self._take_early(began, file)

    def look(self, waited: float) -> None:
        """Take the answers that are there, in a wait of this length so far. Raises: PeerLost; UserError of any peer."""
        looks, self._looks = self._looks, int(waited / _LOOK_INTERVAL)
        if self._looks > looks:
            log.warning("waiting for a sum of %s on its devices for %.0f s", self._label, waited)
        ready = connection.wait(list(self._pipes.values()), 0)
        for number, pipe in self._pipes.items():
            if pipe in ready:
                self._take(number)

    def _take_early(self, began: float, pipe: Connection | int | None = None) -> bool:
        """Wait for an answer of any peer, or until something is in `pipe`, which it returns. Raises: PeerLost; UserError."""
        ends = {end: number for number, end in self._pipes.items()}  # also of peers that have answered: their end is seen there
        ends |= {self._machines[number].ready: number for number in self._asked & self._machines.keys()}
        with self.waiting():
            ready = connection.wait([*ends, *([] if pipe is None else [pipe])], _LOOK_INTERVAL)
        if not ready:
            log.warning("waiting for %s of %s for %.0f s", self._named(self._asked), self._label, time.monotonic() - began)
        for end, number in ends.items():
            if end in ready:
                self._take(number)
        return pipe in ready

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A wait for peers takes place inside."""
        waited_from, self.is_waiting = time.perf_counter(), True
        try:
            yield
        finally:
            self.is_waiting = False
            self.wait_seconds += time.perf_counter() - waited_from

    def _take(self, number: int) -> None:
        self._asked.discard(number)
        try:
            with self._expected(number):
                self._early[number] = self._receive_answer(number)
        except Failed as failed:
            if failed.part is not None:
                raise UserError(failed.part) from failed.cause
            if isinstance(failed.cause, GradstreamError):
                raise failed.cause from None
            said = f"{type(failed.cause).__name__}: {failed.cause}"
            raise PeerFailed(f"{self._named([number])} of {self._label} failed: {said}") from failed.cause

    def _receive_answer(self, number: int) -> Any:
        if link := self._machines.get(number):
            return link.take_answer()
        return tensor_pipe.receive(self._pipes[number], partial(self._wait_for_peer, number))

    @contextmanager
    def _expected(self, number: int) -> Iterator[None]:
        """Raises: PeerLost, for what the pipe of this peer raises inside."""
        try:
            yield
        except (EOFError, OSError) as error:
            raise self._lost(number, error) from None

    def _wait_for_peer(self, number: int, file: int, event: int) -> None:
        """Wait until a peer takes more of a request, or sends more of an answer. The wait counts in slices, so that a worker that
        is stopped as a whole goes on afterwards. Raises: PeerLost: the peer is frozen."""
        does = "take a request" if event == select.POLLOUT else "send the rest of its answer"
        ready = select.poll()
        ready.register(file, event)
        for waited in range(_FROZEN_LOOK, _FROZEN_AFTER + 1, _FROZEN_LOOK):
            if ready.poll(1000 * _FROZEN_LOOK):
                return
            log.warning("waiting for %s of %s to %s for %d s", self._named([number]), self._label, does, waited)
        named = f"{self._named([number])} of {self._label}"
        raise PeerLost(f"{named} is frozen: for {_FROZEN_AFTER} s it did not {does}; with it the whole {self._kind} ends")

    def _named(self, numbers: Iterable[int]) -> str:
        listed = ", ".join(map(str, sorted(map(self._name_of, numbers))))
        return f"peers {listed}" if "," in listed else f"peer {listed}" if listed else "the other peers"

    def _lost(self, number: int, error: Exception) -> PeerLost:
        named = f"{self._named([number])} of {self._label}"
        if link := self._machines.get(number):
            where = f"on another machine{link.address and f' ({link.address})'}"
            return MachineLost(
                f"the connection to {named}, {where}, {describe_break(error)}, and with it the whole {self._kind} ends"
            )
        process = self._processes[number - 1]
        process.join(_ENDS_WITHIN)
        code = process.exitcode
        if code == EXIT_CODES[ExitReason.HUNG] and self._folder:
            said = exits.read(self._folder, code)
            if said.reason is ExitReason.HUNG:
                return PeerHung(f"{named}: {said.message}")
        if code == _ENDED_BY_FAULTHANDLER and (hung := self._without_threads(number)):
            return hung
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return PeerLost(f"{named} has ended ({how}), and with it the whole {self._kind}")

    def _without_threads(self, number: int) -> PeerHung | None:
        """Return the end of a peer whose user code let no other thread run, and so not its watchdog; None: it was another end."""
        dump, folder, timeout = self._dumps[number - 1], self._folder, self._timeout
        if not (dump and folder and timeout and (stacks := dump.read())):
            return None
        sys.stderr.write("".join(f"[{self._named([number])}] {line}" for line in stacks.splitlines(keepends=True)))
        said = describe_hang(dump.find_running(), folder, timeout, ", and let no other thread run")
        return PeerHung(f"{self._named([number])} of {self._label}: {said}")

    def close(self) -> None:
        """End them. Those on other machines end by themselves."""
        for link in self._machines.values():
            link.close()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join(_ENDS_WITHIN)
        self._output.drain(_LAST_LINES_WITHIN)
        for dump in self._dumps:
            if dump:
                dump.close()
