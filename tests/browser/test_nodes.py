"""The page of nodes: credentials that change, and machines that are gone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client
from gradstream.local.platform import LocalPlatform
from gradstream.process.machine import credential_of
from tests.browser.support import OpenPage, check_looks, every_look
from tests.platforms import register_machine, token_status


def rotate(page: Page, name: str) -> None:
    page.get_by_role("button", name=f"Rotate the credential of {name}").click()
    question = page.get_by_role("dialog", name=f"Rotate the credential of {name}?")
    expect(question).to_contain_text("Running processes go on.")
    question.get_by_role("button", name="Rotate").click()
    expect(question).to_have_count(0)


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


@pytest.mark.more
def test_a_credential_is_rotated_and_the_result_is_told(open_page: OpenPage, client: Client, platform: LocalPlatform) -> None:
    [node] = [node for node in client.nodes() if node.status != "lost"]
    before = credential_of(platform.folder.agent)
    page = open_page("/nodes")
    told = card(page, node.name).get_by_role("status")
    expect(told).to_be_empty()
    rotate(page, node.name)
    expect(told).to_have_text("This node has a new credential; the old one no longer works.")
    expect(card(page, node.name).get_by_role("button", name="Rotate")).not_to_have_attribute("aria-disabled", "true")
    assert credential_of(platform.folder.agent) != before
    page.reload()
    expect(told).to_be_empty()


@pytest.mark.few(1)
@every_look
def test_a_machine_that_is_gone_rotates_when_it_is_back(
    open_page: OpenPage, platform: LocalPlatform, client: Client, width: int, scheme: str
) -> None:
    name = f"away-{width}-{scheme}"
    token = register_machine(platform, name)
    page = open_page("/nodes", width=width, scheme=scheme)
    button = card(page, name).get_by_role("button", name="Rotate")
    rotate(page, name)
    expect(card(page, name).get_by_role("status")).to_have_text(
        re.compile("^A user asked for a new credential .*; the old one ends then.$")
    )
    expect(button).to_have_attribute("aria-disabled", "true")
    assert token_status(platform, token) == 200, "the old token counts until the agent has a new one"
    check_looks(page, f"nodes-{width}-{scheme}-rotating", full_page=True)
    client.remove_node(name)
