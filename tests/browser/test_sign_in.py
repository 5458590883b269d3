"""Who gets in, how, and where they land."""

from __future__ import annotations

from playwright.sync_api import expect

from gradstream.client import Client
from tests.browser.support import OpenPage


def test_a_link_signs_in_once_and_leaves_no_code_in_the_address(open_page: OpenPage, client: Client) -> None:
    link = client.sign_in_link()
    page = open_page(link, guest=True, watched=False)
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert "#" not in page.url

    again = open_page(link, guest=True, watched=False)
    expect(again.get_by_role("alert")).to_contain_text("That did not work")


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


def test_a_session_that_has_ended_is_told_and_the_page_comes_back(open_page: OpenPage, client: Client) -> None:
    page = open_page("/settings", guest=True, watched=False)
    expect(page.get_by_label("Code or token")).to_be_visible()
    expect(page.get_by_text("Your session has ended")).to_have_count(0)
    page.goto(client.sign_in_link())
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    page.context.clear_cookies()
    page.goto("/queue")
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    page.get_by_label("Code or token").fill(client.sign_in_link())
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url("/queue")


def test_a_token_made_here_works_until_it_is_revoked(open_page: OpenPage) -> None:
    page = open_page("/settings")
    page.get_by_label("What the new token is for").fill("night build")
    page.get_by_role("button", name="Create").click()
    token = page.get_by_test_id("new-token").inner_text()

    def answer() -> int:
        return page.request.get("/api/v1/jobs", headers={"Authorization": f"Bearer {token}", "Cookie": ""}).status

    assert answer() == 200
    page.get_by_role("row", name="night build").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="night build")).to_have_count(0)
    assert answer() == 401
