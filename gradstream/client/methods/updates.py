"""The model of a job by layer: its parameters, and update samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from gradstream.api.model.parameters import JobParameters
from gradstream.api.model.updates import GroupedBy, StoredUpdateSample, UpdateHistograms
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.updates.sample import What


class UpdatesReading(ApiConnection):
    """The methods of `Client` about parameters and update samples."""

    def parameters(self, job: JobReference) -> JobParameters:
        """Return the model's parameters with their norms in worker 0 at the start, the last checkpoint or the end."""
        return JobParameters.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/parameters"))

    def update_histograms(
        self,
        job: JobReference,
        layer: str | None = None,
        *,
        what: What = "update",
        ranks: Collection[int] = (),
        by: GroupedBy = "staleness",
        most: int = 1000,
    ) -> UpdateHistograms:
        """Return histograms of what workers pushed, or of their gradients, added up by the staleness of the push.

        `layer`: None: all of them. `ranks`: only these workers. `by="samples"`: by parts of the training instead."""
        params: dict[str, Any] = {"what": what, "rank": list(ranks), "by": by, "most": most} | ({"layer": layer} if layer else {})
        return UpdateHistograms.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/updates", params=params))

    def update_samples(self, job: JobReference, *, ranks: Collection[int] = ()) -> Iterator[StoredUpdateSample]:
        """Yield the sampled pushes with the histograms of their layers, in the order of their arrival."""
        id, after = self._id(job), 0
        params: dict[str, Any] = {"rank": list(ranks)}
        while after is not None:
            page = self._transport.json("GET", f"jobs/{id}/updates/samples", params={**params, "after": after})
            yield from (StoredUpdateSample.model_validate(item) for item in page["items"])
            after = page["next"]
