"""The console without a mouse and without sharp eyes: axe finds nothing, and the keyboard reaches everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright", reason="the browser tests need Playwright: make console-test installs it")

from playwright.sync_api import Browser, Page, expect
from tests.console.axe import violations
from tests.console.pages import CHROMIUM, VIEWS, chromium, page_of, send_traffic, working_gateway
from tests.gateway.running import Running

pytestmark = [
    pytest.mark.skipif(not os.environ.get("DRAGOMAN_BROWSER"), reason="`make console-test` runs these"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]
READY = {
    "requests": ".list .row",
    "steady": ".timeline li",
    "no-such-model": ".problem",
    "requests/req_nope": ".problem",
    "playground": ".verdict",
    "compatibility": ".cell",
    "models": ".table",
    "spend": ".bars",
    "keys": ".empty",
    "config": ".effective",
}
"""What is there once a view has loaded."""
PHONE = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with working_gateway(tmp_path_factory.mktemp("access")) as one:
        send_traffic(one)
        yield one


def where(running: Running, view: str) -> str:
    """A view, or the newest request for a model."""
    rows = running.get("/dragoman/requests?limit=1000").json()["requests"]
    found = next((row["id"] for row in rows if row["model"] == view), None)
    return view if found is None else f"requests/{found}"


@pytest.mark.parametrize("options", [{}, PHONE], ids=["light", "dark phone"])
@pytest.mark.parametrize("view", dict.fromkeys([*VIEWS, *READY]))
def test_axe_finds_nothing(browser: Browser, running: Running, view: str, options: dict[str, Any]) -> None:
    # Only the judge needs the policy to be lifted; every other test holds the page to it.
    with page_of(browser, running.url, bypass_csp=True, **options) as watched:
        page = watched.open(where(running, view))
        expect(page.locator(READY[view]).first).to_be_visible()
        assert violations(page) == []


@pytest.mark.parametrize("options", [{}, PHONE], ids=["light", "dark phone"])
def test_axe_finds_nothing_if_a_rule_is_chosen(browser: Browser, running: Running, options: dict[str, Any]) -> None:
    with page_of(browser, running.url, bypass_csp=True, **options) as watched:
        page = watched.open(where(running, "mistral-large-latest"))
        cards = page.locator(".rule-head")
        expect(cards.first).to_be_visible()
        for number in range(cards.count()):
            cards.nth(number).click()
            assert violations(page) == []


def test_axe_can_find_something(browser: Browser, running: Running) -> None:
    with page_of(browser, running.url, bypass_csp=True) as watched:
        page = watched.open("keys")
        expect(page.locator(".empty")).to_be_visible()
        page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        assert [one.partition(":")[0] for one in violations(page)] == ["label"]


def focused(page: Page) -> str:
    found = page.evaluate(
        """() => {
          const one = document.activeElement, style = getComputedStyle(one);
          const name = one.getAttribute('aria-label') ?? one.textContent.trim() ?? one.id;
          return style.outlineStyle === 'none' ? `no outline: ${name}` : name;
        }"""
    )
    return str(found)


def test_tab_goes_through_the_page_in_the_order_of_reading(browser: Browser, running: Running) -> None:
    with page_of(browser, running.url) as watched:
        page = watched.open("requests")
        expect(page.locator(".list .row").first).to_be_visible()
        order = []
        for _ in range(16):
            page.keyboard.press("Tab")
            order.append(focused(page))
        assert order[:9] == [
            *("Skip to the content", "Dragoman", "Requests", "Playground", "Compatibility"),
            *("Models & health", "Spend", "Keys", "Config"),
        ]
        assert order[11:15] == ["Filter by model", "Filter by status", "Filter by rule", ""]
        assert order[15] == "Requests"  # the list itself
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".detail h1")).to_be_visible()


def test_the_first_stop_leads_past_the_navigation(browser: Browser, running: Running) -> None:
    with page_of(browser, running.url) as watched:
        page = watched.open("keys")
        expect(page.locator(".empty")).to_be_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_escape_leaves_a_field_a_dialog_and_a_request(browser: Browser, running: Running) -> None:
    with page_of(browser, running.url) as watched:
        page = watched.open("requests")
        expect(page.locator(".list .row").first).to_be_visible()
        page.keyboard.press("/")
        expect(page.locator("[data-filter]")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("[data-filter]")).not_to_be_focused()
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator(".detail h1")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".row.chosen")).to_be_visible()
