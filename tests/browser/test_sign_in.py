"""Who gets in, how, and where they land."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from gradstream.client import Client
from tests.browser.support import OpenPage


def test_a_link_signs_in_once_and_leaves_no_code_in_the_address(open_page: OpenPage, client: Client) -> None:
    link = client.sign_in_link()
    page = open_page(link, guest=True, watched=False)
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert "#" not in page.url

    again = open_page(link, guest=True, watched=False)
    expect(again.get_by_role("alert")).to_contain_text("Sign-in failed")


def test_a_guest_is_asked_to_sign_in_and_then_lands_where_they_wanted_to_go(open_page: OpenPage, client: Client) -> None:
    page = open_page("/settings", guest=True, watched=False)
    page.get_by_label("Code or token").fill(client.sign_in_link())
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()


def test_signing_out_ends_the_session(open_page: OpenPage, client: Client) -> None:
    page = open_page(client.sign_in_link(), guest=True, watched=False)
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url("/sign-in")
    page.goto("/jobs")
    expect(page).to_have_url("/sign-in")
    expect(page.get_by_text("Your session has ended")).to_have_count(0)


def test_a_session_that_was_ended_elsewhere_is_told_and_the_page_comes_back(open_page: OpenPage, client: Client) -> None:
    lent = client.create_token("lent laptop")
    page = open_page("/queue", guest=True, watched=False)
    expect(page.get_by_label("Code or token")).to_be_visible()
    expect(page.get_by_text("Your session has ended")).to_have_count(0)
    page.get_by_label("Code or token").fill(lent.token)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()

    settings = open_page("/settings")
    table = settings.get_by_role("table", name="Browser sessions")
    expect(table.get_by_text("This browser")).to_have_count(1)
    settings.get_by_role("row", name="lent laptop").get_by_role("button", name="Revoke").click()
    expect(settings.get_by_role("dialog")).to_contain_text("1 browser that signed in with it is signed out.")
    settings.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    table.get_by_role("row", name="lent laptop").get_by_role("button", name="End").click()
    settings.get_by_role("dialog").get_by_role("button", name="End").click()
    expect(table.get_by_role("row", name="lent laptop")).to_have_count(0)
    client.revoke_token(lent.id)

    page.goto("/queue")
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    page.get_by_label("Code or token").fill(client.sign_in_link())
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url("/queue")


@pytest.mark.more
def test_a_token_made_here_works_until_it_is_revoked(open_page: OpenPage, client: Client) -> None:
    page = open_page("/settings")
    page.get_by_label("Purpose of the new token").fill("night build")
    page.get_by_role("button", name="Create").click()
    token = page.get_by_test_id("new-token").inner_text()

    def answer() -> int:
        return httpx.get(f"{client.url}/api/v1/jobs", headers={"Authorization": f"Bearer {token}"}, trust_env=False).status_code

    assert answer() == 200
    page.get_by_role("row", name="night build").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="night build")).to_have_count(0)
    assert answer() == 401


@pytest.mark.more
def test_a_token_is_made_with_a_scope_and_an_end_and_the_table_says_both(open_page: OpenPage, client: Client) -> None:
    gone = client.create_token("old gate", scope="read", expires_in=0.001)
    page = open_page("/settings")
    page.get_by_label("Purpose of the new token").fill("merge gate")
    page.get_by_label("Scope", exact=True).select_option("read")
    expect(page.get_by_text("Sees everything, changes nothing")).to_be_visible()
    page.get_by_label("Expires after").select_option("30 days")
    page.get_by_role("button", name="Create").click()
    token = page.get_by_test_id("new-token").inner_text()

    row = page.get_by_role("row", name="merge gate").get_by_role("cell")
    [made] = [each for each in client.tokens() if each.name == "merge gate"]
    assert made.expires_at
    ends = page.evaluate("iso => new Date(iso).toLocaleDateString('en-GB', {dateStyle: 'medium'})", made.expires_at.isoformat())
    expect(row.nth(1)).to_have_text("API")
    expect(row.nth(2)).to_have_text("read")
    expect(row.nth(3)).to_have_text(ends)
    expect(page.get_by_role("row", name="old gate").get_by_role("cell").nth(3)).to_contain_text("expired")
    narrow = open_page("/settings", width=390)
    expect(narrow.get_by_text(f"API, scope read, expires {ends}")).to_be_visible()

    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{client.url}/api/v1/jobs", headers=headers, trust_env=False).status_code == 200
    assert httpx.post(f"{client.url}/api/v1/sign-in-codes", headers=headers, trust_env=False).status_code == 403
    guest = open_page("/sign-in", guest=True, watched=False)
    guest.get_by_label("Code or token").fill(token)
    guest.get_by_role("button", name="Sign in", exact=True).click()
    expect(guest.get_by_role("alert")).to_contain_text("scope 'read'")
    for one in (gone, made):
        client.revoke_token(one.id)


@pytest.mark.more
def test_the_page_has_a_name_of_its_own_and_other_local_servers_get_no_cookie(open_page: OpenPage, client: Client) -> None:
    seen = list[str | None]()

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Cookie"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    link = client.sign_in_link()
    assert urlsplit(link).hostname == "gradstream.localhost"
    page = open_page(link, guest=True)
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever).start()
        beside = open_page(f"http://127.0.0.1:{other.server_port}/", beside=page, watched=False)  # its icon may come too late
        other.shutdown()
    assert seen
    assert not any(seen)

    beside.goto(client.sign_in_link().replace("gradstream.localhost", "127.0.0.1"))
    expect(beside.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(beside.get_by_text("live", exact=True)).to_be_visible()
