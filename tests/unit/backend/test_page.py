"""Any path of any browser: a file of the built page, or the page itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from backend.web import page

Browser = Callable[[str], httpx.Response]


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "index.html").write_text("the page")
    (tmp_path / "built" / "icon.svg").write_text("the icon")
    (tmp_path / "secret").write_text("not for browsers")
    app = FastAPI()
    page.install(app, tmp_path / "built")

    async def get(path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as client:
            return await client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})

    return lambda path: asyncio.run(get(path))


def test_files_of_the_page_are_served(browser: Browser) -> None:
    assert browser("/icon.svg").text == "the icon"


@pytest.mark.parametrize("path", ["/", "/jobs/123", "/..%2fsecret", "/%00", "/" + "a" * 5000])
def test_every_other_path_is_the_page(browser: Browser, path: str) -> None:
    answer = browser(path)
    assert (answer.status_code, answer.text) == (200, "the page")


def test_what_is_the_apis_is_not_the_page(browser: Browser) -> None:
    assert browser("/api/v1/nothing").status_code == 404
