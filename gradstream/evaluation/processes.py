"""The processes of an evaluator: they share theta, and score whole mini-batches side by side. The lead adds their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from gradstream.center.entries import EVALUATOR, Buffers
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.minibatch import MinibatchScorer, ScoredBatch
from gradstream.group.peers import Peers
from gradstream.group.requests import BeginScoring, EndScoring, ScoreBatch, ScoringRequest
from gradstream.input import tensor_pipe
from gradstream.input.data import EvaluationBatch, EvaluationSplit
from gradstream.input.tensor_pipe import Packed
from gradstream.model.flat_model import FlatModel
from gradstream.model.guard import ParameterGuard
from gradstream.model.usercode import UserCode, blaming
from gradstream.spec import JobSpec
from gradstream.user_logging.recorded import RecordedMedia, RecordedScalars


class ScoringPeer:
    """The work of a process beside the lead. Implements `PeerWork`."""

    answered = 0
    is_waiting = False

    def __init__(self, code: UserCode, flat: FlatModel, split: EvaluationSplit) -> None:
        self._code, self._flat, self._split = code, flat, split
        self._logged, self._media = RecordedScalars(), RecordedMedia()
        self._minibatches = MinibatchScorer(code, flat.model, self._logged, self._media)
        self._guard = ParameterGuard(flat.model, always=True)

    def become(self, number: int) -> None: ...

    def name_of(self, number: int) -> int:
        return number

    def stream_of(self, number: int) -> int:
        return number

    def answer(self, request: ScoringRequest) -> Packed | None:
        match request:
            case BeginScoring(buffers):
                self._begin(buffers and Buffers(*buffers))
            case ScoreBatch(one):
                return self._score(one)
            case EndScoring():
                with blaming("evaluate()"):
                    self._guard.check()
        return None

    def _begin(self, buffers: Buffers | None) -> None:
        if buffers:
            self._flat.load_buffers(buffers)
        self._flat.refresh()
        self._media.begin()
        with blaming("dataset('eval')"):
            self._split.begin()
        self._flat.model.eval()
        self._guard.begin()

    def _score(self, one: EvaluationBatch) -> Packed:
        with self._code.logging_into(self._logged, self._media), torch.no_grad():
            with blaming("dataset('eval')"):
                batch, examples = self._split.take(one)
            scored = self._minibatches.score(batch, examples)
        with blaming("evaluate()"):
            return _packed(scored._replace(logged=self._logged.take_calls(), media=self._media.take_calls()))


class ScoringPeers:
    """These processes, as the lead has them. Implements `OtherScorers`."""

    def __init__(self, code: UserCode, flat: FlatModel, split: EvaluationSplit, spec: JobSpec) -> None:
        """Fork them. `flat`: its theta is a `shared_vector`. See `Peers`. Raises: OSError."""
        self._peers = Peers(ScoringPeer(code, flat, split), spec.evaluate.processes, spec, "evaluator", EVALUATOR, threads=1)

    def begin(self, buffers: Buffers | None) -> None:
        """Begin an evaluation of theta as it is now. `buffers`: those that came with it. Raises: UserError, PeerLost."""
        self._peers.ask_all(BeginScoring((buffers.floats, buffers.ints) if buffers else None))

    def score(
        self, batches: Iterator[EvaluationBatch], score_here: Callable[[EvaluationBatch], ScoredBatch]
    ) -> Iterator[ScoredBatch]:
        """See `OtherScorers`. Each process has one mini-batch at a time. Raises: UserError, PeerLost."""
        for first in batches:
            asked = []
            for number, one in zip(range(1, self._peers.count), batches, strict=False):
                self._peers.ask(number, ScoreBatch(one))
                asked.append(number)
            yield score_here(first)
            for number in asked:
                with blaming("evaluate()"):  # a class of user code may refuse to be unpickled
                    scored: ScoredBatch = self._peers.answer(number)
                yield scored

    def end(self) -> None:
        self._peers.ask_all(EndScoring())

    def close(self) -> None:
        self._peers.close()


def _packed(scored: ScoredBatch) -> Packed:
    """Raises: InvalidWorkload."""
    try:
        return tensor_pipe.pack(scored)
    except Exception as error:  # pickle, and user code that it calls, may raise anything
        raise InvalidWorkload(
            f"a value of evaluate() cannot be sent to the evaluator's first process ({type(error).__name__}: {error}); return "
            "tensors, arrays, numbers and text, or set evaluate.processes: 1"
        ) from error
