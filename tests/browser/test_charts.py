"""Charts: a spike of one step is seen at any zoom, everything goes by keys too, and the address keeps the view."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from gradstream.api.views import ChartLayout
from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import HERE, OpenPage, still_box
from tests.support import JOB_TIMEOUT, eventually

LOSS = re.compile(r"^Training loss: worker 0, 1400 points, .*worker 1, 1400 points")

COLOURED = """(chart, [top, bottom]) => {
  const canvas = chart.querySelector("canvas"), {width, height} = canvas
  const {data} = canvas.getContext("2d").getImageData(0, Math.round(height * top), width, Math.round(height * (bottom - top)))
  let found = 0
  for (let at = 0; at < data.length; at += 4) {
    const [r, g, b, a] = data.slice(at, at + 4)
    if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 40) found++
  }
  return found
}"""
"""Pixels that have a colour, which axes and grid have not, between two heights of the picture."""
TOP = [0.12, 0.4]


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    spec = JobSpec.model_validate(yaml.safe_load((HERE / "spiky/job.yaml").read_text()))
    return client.wait(client.submit(spec, code=HERE / "spiky").id, timeout=JOB_TIMEOUT)


@pytest.fixture
def loss(open_page: OpenPage, client: Client, job: Job) -> Locator:
    wide = client.save_view("job-metrics", "wide", ChartLayout(columns=2, height=230))
    page = open_page(f"/jobs/{job.id}/metrics?x=step&layout={wide.id}")
    return page.get_by_role("img", name=LOSS)


@pytest.mark.more
def test_a_spike_of_one_step_is_seen_at_any_zoom(loss: Locator) -> None:
    _until(loss, lambda coloured: coloured > 20)
    for _ in range(6):  # a twentieth of all, asked anew
        loss.press("+")
        _until(loss, lambda coloured: coloured > 20)
    page = loss.page
    page.wait_for_url(lambda address: _width(address) < 100)
    assert _highest(page) >= 1000
    for _ in range(4):  # beyond it
        loss.press("ArrowRight")
    page.get_by_role("button", name="Table of Training loss").press("Enter")
    numbers = page.get_by_role("region", name="Training loss in numbers")
    expect(numbers.locator("tbody tr").first).to_be_visible()
    expect(numbers.get_by_text(re.compile(r"^100\d"))).to_have_count(0)


def test_to_point_at_a_spike_is_to_read_it(loss: Locator) -> None:
    _until(loss, lambda coloured: coloured > 20)
    page, plot = loss.page, loss.locator(".u-over")
    read = page.get_by_role("tooltip")
    box = still_box(plot)
    spike = box["x"] + box["width"] * 699 / 1399
    page.mouse.move(spike - 2, box["y"] + box["height"] / 4)
    expect(read).to_contain_text(re.compile(r"^Steps 69\d.*lowest.*mean.*highest.*points.*worker [01].*100\d"))
    expect(page.get_by_text(re.compile(r"^mean at 69[89]$")).first, "the legend tells of the same place").to_be_visible()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    expect(read).not_to_contain_text(re.compile(r"100\d"))
    page.goto(f"{page.url}&range=690~710")
    box = still_box(plot)
    page.mouse.move(box["x"] + box["width"] * 9 / 20, box["y"] + box["height"] / 4)
    expect(read).to_contain_text(re.compile(r"^Steps 699\s*worker [01].*100\d"))
    expect(page.get_by_text("mean at 699", exact=True).first).to_be_visible()


@pytest.mark.more
def test_a_range_between_two_points_names_the_nearest(loss: Locator) -> None:
    page = loss.page
    loss.wait_for()
    page.goto(f"{page.url}&range=700.2~700.6")
    panel = page.locator("section,div").filter(has=loss).last
    panel.get_by_role("button", name="700", exact=True).click()
    page.wait_for_url(re.compile("range=699.8(~|%7E)700.2"))
    expect(panel.get_by_text("No point here")).to_have_count(0)


def test_the_address_keeps_the_view(loss: Locator) -> None:
    page = loss.page
    loss.press("+")
    page.get_by_role("button", name=re.compile("^worker 1")).first.press("Enter")
    page.wait_for_url(re.compile("range=.*hide=|hide=.*range="))
    address = page.url
    page.reload()
    _until(loss, lambda coloured: coloured > 20)
    expect(page.get_by_role("button", name="Show all")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^worker 1")).first).to_have_attribute("aria-pressed", "false")
    assert page.url == address
    loss.press("0")
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("range="))


@pytest.mark.more
def test_a_line_that_is_hidden_leaves_the_picture_of_an_ended_job(loss: Locator) -> None:
    _until(loss, lambda coloured: coloured > 20)
    picture = "chart => chart.querySelector('canvas').toDataURL()"
    before = loss.evaluate(picture)
    loss.page.get_by_role("button", name=re.compile("^worker 1")).first.press("Enter")
    eventually(lambda: loss.evaluate(picture) != before, "a picture without the line")


@pytest.mark.more
def test_a_range_that_is_drawn_on_one_chart_is_every_chart_s(loss: Locator) -> None:
    page = loss.page
    box = still_box(loss)
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 90, steps=5)
    with page.expect_response(lambda answer: "/chart?" in answer.url and "from=" in answer.url) as asked:
        page.mouse.up()
    names = parse_qs(urlsplit(asked.value.url).query)["name"]
    assert {"train/loss", "train/staleness"} <= set(names), "one request for all charts in sight"
    loss.dblclick()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)


@pytest.mark.more
def test_full_screen_numbers_and_pictures_by_keys(loss: Locator) -> None:
    page = loss.page
    loss.wait_for()  # the menu is there before the chart is, and then says that there is no picture yet
    more = page.get_by_role("button", name="More for Training loss")
    saved = {}
    for item, suffix in (("Save as PNG", ".png"), ("Save as SVG", ".svg"), ("Every point as CSV", ".csv")):
        with page.expect_download() as download:
            _choose(more, item)
        assert download.value.suggested_filename.endswith(suffix)
        saved[suffix] = download.value.path().read_bytes()
        assert len(saved[suffix]) > 2000
    width, height = struct.unpack(">II", saved[".png"][16:24])
    assert page.evaluate("devicePixelRatio") == 1
    assert f'width="{width // 2}" height="{height // 2}"'.encode() in saved[".svg"], "two pixels of a PNG to one of the page"
    canvas = loss.locator("canvas")
    assert canvas.evaluate("canvas => canvas.width === canvas.clientWidth"), "the chart has its own pixels again"
    _choose(more, "Full screen")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name=LOSS)).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page).not_to_have_url(re.compile("full="))


def _choose(more: Locator, item: str) -> None:
    """By keys. A menu gives the focus to its first item when it has opened, which a key that comes before would miss."""
    page = more.page
    more.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.get_by_role("menuitem", name=item).press("Enter")
    expect(page.get_by_role("menu")).to_have_count(0)


@pytest.mark.more
def test_metrics_are_found_folded_and_pinned(loss: Locator) -> None:
    page = loss.page
    loss.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("wait")
    expect(page.get_by_role("heading", name="Wait time", exact=True)).to_be_visible()
    expect(loss).to_have_count(0)
    _choose(page.get_by_role("button", name="More for Wait time", exact=True), "Pin to the top")
    page.get_by_role("searchbox", name="Search metrics").fill("")
    expect(page.get_by_role("region", name="Pinned").get_by_role("heading", name="Wait time", exact=True)).to_be_visible()
    page.get_by_role("button", name=re.compile("^Training")).press("Enter")
    expect(loss).to_have_count(0)


@pytest.mark.more
def test_a_time_that_is_drawn_on_the_heat_map_is_every_chart_s_and_the_other_way_round(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/staleness?x=time")
    heat = page.get_by_role("img", name=re.compile("^Mean staleness of 2 workers over time"))
    box = still_box(heat)
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 40, steps=5)
    expect(page.get_by_text(", of all workers").first).to_be_visible()
    with page.expect_response(lambda answer: "from=" in answer.url and "train%2Floss" in answer.url):  # not the map's alone
        page.mouse.up()
    page.wait_for_url(lambda address: _width(address) < 1000)
    drawn = _width(page.url)
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"):
        heat.press(key)
    page.wait_for_url(lambda address: _width(address) < drawn / 10)
    page.goto(f"/jobs/{job.id}/staleness?x=step")
    _waiting(page).press("+")
    page.wait_for_url(lambda address: 0 < _width(address) < 1000)
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    expect(page.get_by_role("img", name=re.compile("^Mean staleness of 2 workers over steps"))).to_be_visible()
    expect(page.get_by_text("in the visible range")).to_be_visible()


def test_a_cell_of_the_heat_map_leads_to_its_time_and_the_ledger_adds_up(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/staleness")
    heat = page.get_by_role("img", name=re.compile("^Mean staleness of 2 workers over time"))
    said = page.get_by_text(re.compile(r"^worker 0, .* updates$"))

    def at_pushes() -> int:
        heat.press("ArrowRight")
        return said.count()

    eventually(at_pushes, "a cell in which worker 0 has pushed")
    heat.press("Enter")
    page.wait_for_url(re.compile("x=time.*range=|range=.*x=time"))
    expect(page.get_by_text(re.compile("in the visible range"))).to_be_visible()
    ledger = page.get_by_role("region", name="Ledger of each worker").get_by_role("row")
    expect(ledger).to_have_count(3)
    expect(ledger.nth(1)).to_contain_text("1,400")
    expect(page.get_by_text("The whole job, not the visible range")).to_be_visible()
    expect(page.get_by_role("img", name="adds up")).to_have_count(2)


@pytest.mark.more
def test_staleness_is_told_in_seconds_and_as_a_distance_too(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/staleness")
    for choice, name, value in (
        ("Seconds", "staleness in seconds", r"[\d.]+ (µs|ms|s)"),
        ("Distance", "distance to the center", r"[\d.e-]+"),
    ):
        page.get_by_role("radiogroup", name="Unit of staleness").get_by_text(choice).click()
        heat = page.get_by_role("img", name=re.compile(f"^Mean {name} of 2 workers over time, up to {value}$"))
        expect(heat).to_be_visible()
        assert parse_qs(urlsplit(page.url).query)["stale"] == [choice.lower()]
        expect(page.get_by_role("img", name=re.compile(f"^Distribution of {name} from {value} to {value}$"))).to_be_visible()
        expect(page.get_by_role("heading", name=f"Loss against {name}")).to_be_visible()
    page.reload()
    expect(heat).to_be_visible()


@pytest.mark.more
def test_the_distribution_counts_every_push(open_page: OpenPage, job: Job, client: Client) -> None:
    batches = client.metrics(job.id, names=["train/staleness"])
    measured = sorted(value for batch in batches for *_, value in batch.points if value is not None)
    page = open_page(f"/jobs/{job.id}/staleness")
    rows = page.get_by_role("region", name="Quantiles of staleness").get_by_role("row")
    expect(rows).to_have_count(4)
    cells = [str(measured[math.ceil(share * len(measured)) - 1]).removesuffix(".0") for share in (0.5, 0.9, 0.99)]
    expect(rows.nth(1)).to_have_text("\t".join(["all", *cells, f"{len(measured):,}"]), use_inner_text=True)
    expect(page.get_by_role("img", name=re.compile(f"^Distribution of staleness from {measured[0]:.0f} "))).to_be_visible()
    with page.expect_response(lambda answer: "/distribution?" in answer.url and "from=" in answer.url) as asked:
        _waiting(page).press("+")
    seen = asked.value.json()["count"]
    assert 0 < seen < len(measured)
    expect(rows.nth(1)).to_contain_text(f"{seen:,}")


def _waiting(page: Page) -> Locator:
    """The chart of how long workers wait, which is drawn when it is in sight; what is drawn above it may move it away meanwhile."""
    heading = page.get_by_role("heading", name="Wait time", exact=True)
    chart = page.get_by_role("img", name=re.compile("^Wait time: worker 0"))

    def drawn() -> int:
        heading.scroll_into_view_if_needed()
        return chart.count()

    eventually(drawn, "the chart to be drawn")
    return chart


def _until(chart: Locator, fits: Callable[[int], bool]) -> None:
    """Until the top of the picture has as many coloured pixels."""

    def found() -> bool:
        chart.page.wait_for_timeout(50)
        return fits(chart.evaluate(COLOURED, TOP))

    eventually(found, "coloured pixels in the upper part of the chart")


def _width(address: str) -> float:
    """Of the range in the address."""
    left, right = map(float, parse_qs(urlsplit(address).query).get("range", ["-inf~inf"])[0].split("~"))
    return right - left


def _highest(page: Page) -> float:
    """Of the loss, as the numbers beside the chart say; the chart is shown again."""
    numbers = page.get_by_role("button", name="Table of Training loss")
    numbers.press("Enter")
    cells = page.get_by_role("region", name="Training loss in numbers").locator("tbody td:nth-child(5)")
    cells.first.wait_for()
    highest = max(float(cell) for cell in cells.all_inner_texts())
    numbers.press("Enter")
    return highest
