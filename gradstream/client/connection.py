"""A signed-in connection to a platform, and how jobs are found there."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from uuid import UUID

from gradstream.client.credentials import Credentials
from gradstream.client.models import Job, JobPage, SignInLink
from gradstream.client.transport import LOOPBACK, Transport
from gradstream.errors import Invalid, NotFound

if TYPE_CHECKING:
    import httpx


class Connection:
    """The parts of `Client` share it."""

    def __init__(
        self, credentials: Credentials, *, timeout: float = 10.0, on_retry: Callable[[str], None] = lambda why: None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        """`on_retry(why)` is called before each repeated request; `transport` replaces the network."""
        self.url = credentials.url
        self._transport = Transport(credentials, timeout=timeout, on_retry=on_retry, inner=transport)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """With GRADSTREAM_URL and GRADSTREAM_TOKEN, what `gradstream login` kept, or the platform that runs here."""
        return cls(Credentials.find(), **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._transport.close()

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

    def job(self, id: UUID | str, *, wait: float = 0, since: int = -1) -> Job:
        """One job; with `wait`, as soon as its `seq` is above `since`, at the latest after so many seconds (up to 30)."""
        params = {"wait": wait, "since": since}
        return Job.model_validate(self._transport.json("GET", f"jobs/{id}", params=params, timeout=wait + 20))

    def jobs(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> JobPage:
        """Newest first. Filters: `status`, `strategy`, `user` (lists), `q` (part of the name); `sort` and `descending` for another
        order, in which all pages have to be asked for."""
        asked = {"limit": limit, "cursor": cursor, **filters}
        params = {name: value for name, value in asked.items() if value is not None}
        return JobPage.model_validate(self._transport.json("GET", "jobs", params=params))

    def find(self, reference: str) -> Job:
        """The job with this id, with an id that begins so (4 characters or more), or the newest one of this name."""
        try:
            return self.job(UUID(reference))
        except ValueError:
            pass
        cursor: str | None = None
        for _ in range(50):  # 10,000 jobs back
            page = self.jobs(limit=200, cursor=cursor)
            by_id = [job for job in page.items if len(reference) >= 4 and str(job.id).startswith(reference.lower())]
            if len(by_id) > 1:
                raise Invalid(f"'{reference}' is the beginning of {len(by_id)} ids; write more of it")
            for job in by_id or [job for job in page.items if job.name == reference]:
                return self.job(job.id)
            cursor = page.next_cursor
            if cursor is None:
                break
        raise NotFound(f"there is no job '{reference}'; `gradstream jobs` lists them")

    def _items(self, path: str) -> list[Any]:
        return list(self._transport.json("GET", path)["items"])


def _from_here(page: str, platform: str) -> str:
    """The page's address for a browser beside us: a platform that names itself by a loopback address is where we reached it."""
    if urlsplit(page).hostname in LOOPBACK and urlsplit(platform).hostname not in LOOPBACK:
        where = urlsplit(platform)
        return urlsplit(page)._replace(scheme=where.scheme, netloc=where.netloc).geturl()
    return page
