"""A signed-in connection to a platform, and how jobs are found there."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID

from gradstream.api.base import LARGEST_PAGE
from gradstream.api.jobs import Job, JobPage, JobSummary
from gradstream.api.platform import SignInLink
from gradstream.client.credentials import Credentials
from gradstream.client.references import begins_id
from gradstream.client.transport import Transport
from gradstream.errors import Invalid, NotFound, Unavailable
from gradstream.hostnames import is_here, page_url

if TYPE_CHECKING:
    import httpx

JobReference = JobSummary | UUID | str
"""A job as the client returned it, its id, the beginning of its id (4 characters or more), or its name (the newest job)."""
_PAGES = 20
"""Pages of 200 jobs that are searched for a name."""


class ApiConnection:
    """The parts of `Client` share it."""

    def __init__(
        self,
        platform: Credentials | str | None = None,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        on_retry: Callable[[str], None] = lambda why: None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`platform`: address or credentials; default: GRADSTREAM_URL and GRADSTREAM_TOKEN, else what `gradstream login` kept,
        else the platform that runs on this machine. `on_retry(why)` is called before each repeated request; `transport`
        replaces the network. Raises: NotSignedIn, saying what to do."""
        if isinstance(platform, Credentials):
            credentials = platform
        elif platform is not None and token is not None:
            credentials = Credentials.at(platform, token)
        else:
            credentials = Credentials.find(url=platform, token=token)
        self.url = credentials.url
        self._transport = Transport(credentials, timeout=timeout, on_retry=on_retry, inner=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; leaving a `with` block does this, too."""
        self._transport.close()

    @property
    def page_url(self) -> str:
        """Address of the page, for browsers on this machine."""
        return page_url(self.url)

    def user(self) -> str:
        """Name of the user whose token this is."""
        return str(self._transport.json("GET", "session")["user"]["name"])

    def create_sign_in_link(self) -> SignInLink:
        """A new address of the page that signs one browser in, once, as this user."""
        link = SignInLink.model_validate(self._transport.json("POST", "sign-in-codes", safe=False))
        return link.model_copy(update={"url": _from_here(link.url, self.url)})

    def sign_in_link(self) -> str:
        """`create_sign_in_link`, without its end."""
        return self.create_sign_in_link().url

    def job(self, job: JobReference, *, wait: float = 0, since: int = -1) -> Job:
        """One job; with `wait`, as soon as its `seq` is above `since`, at the latest after so many seconds (up to 30)."""
        params = {"wait": wait, "since": since}
        return Job.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}", params=params, timeout=wait + 20))

    def jobs(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        status: Sequence[str] | str | None = None,
        strategy: Sequence[str] | str | None = None,
        user: Sequence[str] | str | None = None,
        tag: Sequence[str] | str | None = None,
        archived: Literal["exclude", "only", "include"] | None = None,
        q: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        by: str | None = None,
        where: Sequence[str] | str | None = None,
        columns: Sequence[str] | None = None,
    ) -> JobPage:
        """Newest first, without archived ones. `tag`: jobs that have all of these. `q` is a part of the name; `sort` gives another
        order, in which all pages have to be asked for. `by` sorts by a setting or result instead (`strategy.lr`, `eval/accuracy`),
        `where` has conditions such as `lr>=0.1`, and `columns` are fields whose values the page has in `values`."""
        asked = {"limit": limit, "cursor": cursor, "status": status, "strategy": strategy, "user": user, "tag": tag}
        asked |= {"archived": archived, "q": q, "sort": sort, "descending": descending, "by": by}
        asked |= {"where": where, "column": columns}
        params = {name: value for name, value in asked.items() if value is not None}
        return JobPage.model_validate(self._transport.json("GET", "jobs", params=params))

    def find(self, reference: JobReference) -> Job:
        """The job with this id, with an id that begins so, or the newest one of this name. Raises: NotFound, Invalid."""
        return self.job(self._id(reference))

    def _id(self, reference: JobReference) -> UUID:
        """Raises: NotFound, with the nearest name. Invalid: the beginning of several ids."""
        if isinstance(reference, JobSummary):
            return reference.id
        if isinstance(reference, UUID):
            return reference
        try:
            return UUID(reference)
        except ValueError:
            return self._search_id(reference)

    def _search_id(self, reference: str) -> UUID:
        cursor: str | None = None
        names: dict[str, None] = {}
        for _ in range(_PAGES):
            page = self.jobs(limit=LARGEST_PAGE, cursor=cursor, archived="include")
            by_id = [job for job in page.items if begins_id(reference, job.id)]
            if len(by_id) > 1:
                raise Invalid(f"'{reference}' is the beginning of {len(by_id)} ids; write more of it")
            for job in by_id or [job for job in page.items if job.name == reference]:
                return job.id
            names |= dict.fromkeys(job.name for job in page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        close = difflib.get_close_matches(reference, names, 1)
        hint = f"did you mean '{close[0]}'?" if close else "`gradstream jobs` lists them"
        raise NotFound(f"there is no job '{reference}'; {hint}")

    def _fetch(self, path: str, target: Path, sha256: str) -> None:
        """Write a file of the platform. Raises: Unavailable: it arrived damaged, and nothing is written."""
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for block in self._transport.bytes(path):
                digest.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != sha256:
            target.unlink()
            raise Unavailable(f"{target.name.removesuffix('.part')} arrived damaged; try again")

    def _items(self, path: str) -> list[Any]:
        return list(self._transport.json("GET", path)["items"])


def _from_here(page: str, platform: str) -> str:
    """The page's address for a browser beside us: a platform that names itself as this machine's own is where we reached it."""
    if not is_here(urlsplit(page).hostname):
        return page
    where = urlsplit(page_url(platform))
    return urlsplit(page)._replace(scheme=where.scheme, netloc=where.netloc).geturl()
