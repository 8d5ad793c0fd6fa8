"""The console in a real browser: every view, hostile content, keyboard, phone, dark, and fifty thousand requests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="the browser tests need Playwright: make console-test installs it")

from playwright.sync_api import Browser, Page, expect
from tests.console.pages import (
    CHROMIUM,
    HOSTILE,
    VIEWS,
    Watched,
    chromium,
    page_of,
    send_hostile,
    send_traffic,
    working_gateway,
)
from tests.gateway.running import Running, gateway
from tests.gateway.test_tool_rounds import ANTHROPIC, ASKED
from tests.gateway.test_tool_rounds import running as running_tools
from tests.shapes.agent_loops import SYSTEM, chat_agent

from dragoman.config.client_keys import sha256_of
from dragoman.store.ledger_entry import Entry

pytestmark = [
    pytest.mark.skipif(not os.environ.get("DRAGOMAN_BROWSER"), reason="`make console-test` runs these"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]
ADMIN = "dm-admin-0123456789"
MANY = 50_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with working_gateway(tmp_path_factory.mktemp("console")) as one:
        send_traffic(one)
        yield one


@contextmanager
def clean_page(browser: Browser, running: Running, **options: Any) -> Iterator[Page]:
    """A page on which nothing may go wrong."""
    with page_of(browser, running.url, **options) as watched:
        watched.page.goto(running.url)
        yield watched.page
        assert watched.errors == []


def newest(running: Running, **wanted: str) -> str:
    rows = running.get("/dragoman/requests?limit=1000").json()["requests"]
    return str(next(row["id"] for row in rows if all(row[name] == value for name, value in wanted.items())))


def go(page: Page, view: str) -> None:
    page.evaluate("view => { location.hash = '#/' + view }", view)


# The list.


def test_requests_are_listed_and_opened_by_keyboard(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        rows = page.locator(".list .row")
        expect(rows.first).to_contain_text("mistral-large-latest")
        expect(rows.first).to_contain_text("late-system")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        expect(page.locator(".row.chosen")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator(".detail h1")).to_contain_text("mistral/mistral-large-latest")
        page.keyboard.press("Escape")
        expect(rows.first).to_be_visible()
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_contain_text("Keyboard")
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("s")
        expect(page.locator("h1")).to_have_text("Spend")


def test_filters_narrow_the_list(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        expect(page.locator(".list .row").first).to_be_visible()
        page.keyboard.press("/")
        page.keyboard.type("no-such-model")
        expect(page.locator(".list .row")).to_have_count(1)
        expect(page.locator(".list .row")).to_contain_text("404")
        page.locator('[aria-label="Filter by model"]').fill("")
        page.locator('[aria-label="Filter by rule"]').fill("call-id-form")
        expect(page.locator(".said")).not_to_have_text("1 shown")
        expect(page.locator(".list .row").first).to_contain_text("mistral")
        page.locator('[aria-label="Filter by rule"]').fill("no-such-rule")
        expect(page.locator(".empty")).to_contain_text("No request fits")


def test_new_requests_appear_by_themselves(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        expect(page.locator(".list .row").first).to_be_visible()
        page.wait_for_timeout(300)
        running.post(
            "/v1/chat/completions", {"model": "brand-new-model", "messages": [{"role": "user", "content": "x"}]}
        )
        expect(page.locator(".list .row").first).to_contain_text("brand-new-model")


def test_an_empty_gateway_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with gateway({"providers": {}}, tmp_path) as running, clean_page(browser, running) as page:
        expect(page.locator(".empty")).to_contain_text("ANTHROPIC_BASE_URL")


# One request.


def test_every_change_is_marked_on_both_sides_with_its_reason(browser: Browser, running: Running) -> None:
    request = newest(running, client_dialect="openai-chat", target="gemini/gemini-2.5-flash")
    with clean_page(browser, running) as page:
        go(page, f"requests/{request}")
        card = page.locator(".rule", has_text="late-system")
        expect(card).to_contain_text("loses authority")
        expect(card.locator("q")).to_have_text("Please use a valid role: user, model.")
        expect(card).to_contain_text("/messages/4")
        card.locator(".rule-head").click()
        client, upstream = page.locator(".pane").nth(0), page.locator(".pane").nth(1)
        expect(client.locator(".mark.chosen")).to_contain_text("Answer in French.")
        expect(upstream.locator(".mark.chosen")).to_contain_text("[System] Answer in French.")
        expect(upstream.locator(".mark.chosen")).to_be_in_viewport()
        expect(client.locator(".mark.gone").first).to_contain_text('"index"')
        page.keyboard.press("j")
        expect(page.locator(".rule.chosen")).not_to_contain_text("late-system")


def test_sends_answers_and_samples_are_shown(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, f"requests/{newest(running, model='steady')}")
        expect(page.locator(".timeline li")).to_have_count(4)
        expect(page.locator(".timeline")).to_contain_text("cannot be reached")
        page.locator(".timeline summary").first.click()
        expect(page.locator(".timeline .json").first).to_contain_text("gpt-4o")
        expect(page.locator("blockquote").first).not_to_be_empty()
        page.get_by_role("button", name="Test", exact=True).click()
        expect(page.locator(".sample")).to_contain_text("def test_request")


def test_a_request_is_sent_again_and_compared(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, f"requests/{newest(running, model='mistral-large-latest')}")
        page.locator('[aria-label="Model"]').fill("claude-sonnet-4-6")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".again-result figcaption").nth(1)).to_contain_text("anthropic/claude-sonnet-4-6")
        expect(page.locator(".again-result")).to_contain_text("late-system")


def test_a_long_conversation_is_folded_around_its_changes(browser: Browser, running: Running) -> None:
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}] * 700
    turns[900] = {"role": "system", "content": "Answer in French."}
    running.post("/v1/chat/completions", {"model": "gemini-2.5-flash", "messages": turns})
    with clean_page(browser, running) as page:
        go(page, f"requests/{newest(running, model='gemini-2.5-flash')}")
        client = page.locator(".pane").first
        expect(client.locator(".mark").first).to_contain_text("Answer in French.")
        expect(client).to_contain_text("… 900 items …")
        lines = client.locator(".line")
        assert lines.count() < 60
        before = lines.count()
        client.get_by_text("… 900 items …").click()
        expect(client).to_contain_text("… 780 items …")
        assert lines.count() == before + 120


# Without sending.


def test_the_playground_compares_targets_as_you_type(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, "playground")
        expect(page.locator(".chip")).to_have_count(3)
        expect(page.locator(".verdict")).to_contain_text("the emulator accepts it")
        talk = {"messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be <b>brief</b>."}]}
        page.locator("textarea").fill(json.dumps(talk))
        page.locator(".chip", has_text="gemini").get_by_role("button").first.click()
        expect(page.locator(".cards")).to_contain_text("late-system")
        expect(page.locator(".pane").nth(1)).to_contain_text("[System] Be <b>brief</b>.")
        page.locator("textarea").fill("{")
        expect(page.locator(".problem")).to_be_visible()
        page.locator("textarea").fill(json.dumps(talk))
        page.get_by_role("button", name="Send it").click()
        expect(page.locator(".result .card h2")).to_contain_text("200")


def test_a_shared_link_holds_the_conversation_and_is_not_sent(browser: Browser, running: Running) -> None:
    talk = json.dumps({"messages": [{"role": "user", "content": "Привет, 世界"}]})
    with clean_page(browser, running, permissions=["clipboard-read", "clipboard-write"]) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        go(page, "playground")
        expect(page.locator(".verdict")).to_be_visible()
        page.locator("textarea").fill(talk)
        page.get_by_role("button", name="Share").click()
        link = page.evaluate("navigator.clipboard.readText()")
        page.goto("about:blank")
        page.goto(link)
        expect(page.locator("textarea")).to_have_value(talk)
        assert not [url for url in asked if "c=" in url.partition("#")[0]]


def test_the_table_shows_evidence_for_each_cell(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, "compatibility")
        row = page.locator("tr", has_text="A system message in the middle")
        row.locator('.cell[aria-label*="mistral"]').click()
        panel = page.locator(".side-panel")
        expect(panel).to_contain_text("late-system")
        expect(panel).to_contain_text("without the repair:")
        expect(panel.locator(".bad")).to_contain_text("Unexpected role")
        page.locator('[aria-label="Add a target"]').fill("cohere/command-a-03-2025")
        page.get_by_role("button", name="Add").click()
        expect(page.locator("thead")).to_contain_text("command-a-03-2025")
        panel.get_by_text("Open in the playground").click()
        expect(page.locator(".chip")).to_contain_text("mistral")


# State.


def test_models_spend_keys_and_config_are_shown(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, "models")
        expect(page.locator("table").first).to_contain_text("down/gpt-4o → anthropic/claude-sonnet-4-6")
        numbers = ["First byte", "Requests, 24 h", "Errors", "Spent", "Price in / out"]
        expect(page.locator("table").first.locator("th.number")).to_have_text(numbers)
        go(page, "spend")
        expect(page.locator("svg.chart rect").first).to_be_attached()
        expect(page.locator(".bars").first).to_contain_text("claude-sonnet-4-6")
        go(page, "keys")
        expect(page.locator(".empty")).to_contain_text("No keys")
        go(page, "config")
        expect(page.locator(".effective")).to_contain_text("providers:")
        assert "pk-anthropic" not in page.content()


def test_the_request_that_broke_a_cache_is_one_click_away(browser: Browser, running: Running) -> None:
    loop = chat_agent(4)
    changed = [{**loop[3]["messages"][0], "content": "It is noon. " + SYSTEM}, *loop[3]["messages"][1:]]
    for body in (*loop[:3], {**loop[3], "messages": changed}):
        assert running.post("/v1/chat/completions", {**body, "model": "gpt-4o"}).status_code == 200
    with clean_page(browser, running) as page:
        go(page, "spend")
        sessions = page.get_by_label("Prompt caches by session")
        expect(sessions).to_contain_text("the client changed message 1")
        sessions.get_by_role("link").first.click()
        expect(page.locator("main")).to_contain_text("the client changed message 1")


def test_lessons_are_forgotten_by_a_click(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        go(page, "models")
        forget = page.get_by_role("button", name="Forget")
        expect(forget.first).to_be_visible()
        before = forget.count()
        forget.first.click()
        expect(forget).to_have_count(before - 1)


def test_signing_in_editing_and_undoing(browser: Browser, tmp_path: Path) -> None:
    keys = {"boss": {"sha256": sha256_of(ADMIN), "admin": True}}
    with working_gateway(tmp_path, keys=keys) as running:
        send_traffic(running, authorization=f"Bearer {ADMIN}")
        with page_of(browser, running.url) as watched:
            page = watched.page
            page.goto(running.url)
            page.locator('[aria-label="Admin key"]').fill("wrong")
            page.get_by_role("button", name="Sign in").click()
            expect(page.locator(".note")).to_contain_text("not an admin key")
            watched.errors.clear()  # the browser notes the 401
            page.locator('[aria-label="Admin key"]').fill(ADMIN)
            page.keyboard.press("Enter")
            page.locator(".list .row").first.click()
            expect(page.locator(".empty")).to_contain_text("keep_bodies")
            edit(page, running)
            create_key(page)
            page.get_by_role("button", name="Sign out").click()
            expect(page.locator('[aria-label="Admin key"]')).to_be_visible()
            assert watched.errors == []


def edit(page: Page, running: Running) -> None:
    go(page, "config")
    area = page.locator(".editor textarea")
    text = area.input_value()
    area.fill(text + "modles: {}\n")
    expect(page.locator(".problems")).to_contain_text("modles")
    expect(page.locator(".numbers .bad")).to_have_text(str(len(text.splitlines()) + 1))
    area.fill(text + "default_mo")
    area.press("Control+Space")
    expect(page.locator(".completions")).to_contain_text("default_model")
    area.press("Enter")
    area.press_sequentially("steady")
    expect(page.locator(".diff")).to_contain_text("+default_model: steady")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".said")).to_contain_text("Saved")
    assert running.services.live.config.default_model == "steady"
    page.get_by_role("button", name="Undo the last save").click()
    expect(page.locator(".said")).to_contain_text("is back")
    assert running.services.live.config.default_model is None


def create_key(page: Page) -> None:
    go(page, "keys")
    page.get_by_role("button", name="New key").click()
    page.locator("form input").first.fill("app")
    page.get_by_label("Requests per minute").fill("5")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".secret")).to_contain_text("dm-")
    expect(page.locator("table")).to_contain_text("5 requests per minute")


# What is hostile.


def test_hostile_content_is_text(browser: Browser, running: Running) -> None:
    request = send_hostile(running)
    with clean_page(browser, running) as page:
        expect(page.locator(".list .row").first).to_contain_text("<script>")
        for view in (f"requests/{request}", *VIEWS):
            go(page, view)
            page.wait_for_timeout(400)
            assert page.evaluate("window.pwned") is None
            assert page.locator("main img, main script, main iframe").count() == 0
        go(page, f"requests/{request}")
        expect(page.locator(".pane").first).to_contain_text("<script>window.pwned=1</script>")
        assert "\u202e" not in page.locator("main").inner_text()
        assert "\\u202e" in page.locator("main").inner_text()
        assert page.locator("main").evaluate("one => one.scrollWidth <= one.clientWidth + 1"), HOSTILE[:10]


def test_nothing_is_loaded_from_elsewhere(browser: Browser, running: Running) -> None:
    with clean_page(browser, running) as page:
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(request.url.partition("?")[0]))
        for view in VIEWS:
            go(page, view)
            page.wait_for_timeout(150)
        assert asked
        assert [url for url in asked if not url.startswith(running.url)] == []


# How it looks.


@pytest.mark.parametrize("view", [*VIEWS, "detail"])
def test_a_phone_shows_every_view_without_scrolling_sideways(browser: Browser, running: Running, view: str) -> None:
    where = f"requests/{newest(running, model='steady')}" if view == "detail" else view
    with clean_page(browser, running, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        go(page, where)
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("main").evaluate("one => one.scrollWidth") <= 390
        assert (
            page.locator(".table").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length")
            == 0
        )
        expect(page.locator("nav a[aria-current]")).to_be_in_viewport(ratio=0.9)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_names_the_column_of_every_cell(browser: Browser, running: Running, scheme: Any) -> None:
    with clean_page(browser, running, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        go(page, "models")
        state = page.locator("td[data-head=State]").first
        expect(state).to_be_in_viewport(ratio=1)
        label = "one => getComputedStyle(one, '::before').content"
        assert state.evaluate(label) == '"State"'
        page.set_viewport_size({"width": 1280, "height": 800})
        assert state.evaluate(label) == "none"
        expect(page.locator("th").first).to_be_visible()


def test_light_and_dark_follow_the_system_and_the_switch(browser: Browser, running: Running) -> None:
    def background(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    with clean_page(browser, running, color_scheme="dark") as page:
        expect(page.locator("#theme")).to_be_visible()
        dark = background(page)
        page.locator("#theme").click()
        light = background(page)
        assert dark != light
        page.reload()
        expect(page.locator("#theme")).to_be_visible()
        assert background(page) == light


def test_fifty_thousand_requests_scroll_with_a_handful_of_rows(browser: Browser, tmp_path: Path) -> None:
    config = {"providers": {}, "store": {"kind": "memory", "keep_requests": MANY + 10}}
    with gateway(config, tmp_path) as running:
        for number in range(MANY):
            entry = Entry(id=f"req_{number:08x}", time=1_800_000_000.0 + number, asked=f"model-{number}", target="x/y")
            running.services.store.ledger.record(entry)
        with clean_page(browser, running) as page:
            rows = page.locator(".list .row")
            expect(rows.first).to_contain_text(f"model-{MANY - 1}")
            page.evaluate(SCROLL_TO_END)
            expect(page.locator(".said")).to_have_text("50,000 shown", timeout=60_000)
            page.keyboard.press("End")
            expect(page.locator(".row.chosen")).to_contain_text("model-0")
            assert rows.count() < 80
            page.keyboard.press("Home")
            expect(page.locator(".row.chosen")).to_contain_text(f"model-{MANY - 1}")
            assert page.evaluate(ROWS_MADE_WHILE_SCROLLING) == 0


# A row that leaves the sight is filled again: what a frame costs does not depend on how far one has scrolled.
ROWS_MADE_WHILE_SCROLLING = """async () => {
  const list = document.querySelector(".list");
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  list.scrollTop = 9000;
  await frame();
  const known = new Set(list.firstChild.children), made = new Set();
  for (let step = 0; step < 60; step += 1) {
    list.scrollTop += 900;
    await frame();
    for (const row of list.firstChild.children) if (!known.has(row)) made.add(row);
  }
  return made.size;
}"""
SCROLL_TO_END = """() => {
  const list = document.querySelector(".list");
  const timer = setInterval(() => {
    list.scrollTop = list.scrollHeight;
    if (document.querySelector(".said").textContent === "50,000 shown") clearInterval(timer);
  }, 30);
}"""


def test_a_watched_page_notices_what_goes_wrong(browser: Browser, running: Running) -> None:
    """The judge of all these tests: an error and a violation of the policy are seen."""
    with page_of(browser, running.url) as watched:
        watched.page.goto(running.url)
        assert isinstance(watched, Watched)
        watched.page.evaluate(
            "document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.1:9/x'}))"
        )
        watched.page.wait_for_timeout(200)
        assert any("Content Security Policy" in error for error in watched.errors)


# Tools that the gateway ran.


def test_each_tool_that_was_run_has_its_time_size_and_cost(browser: Browser, tmp_path: Path) -> None:
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}], "tools": ANTHROPIC}
    with running_tools(tmp_path) as (one, _, _):
        one.entry(one.post("/v1/messages", asked))
        rows = one.get("/dragoman/requests?limit=10").json()["requests"]
        with clean_page(browser, one) as page:
            go(page, f"requests/{min(row['id'] for row in rows)}")
            cells = page.locator(".card", has_text="1 tool run by the gateway").locator("tbody td")
            expect(cells).to_have_count(5)
            assert [cells.nth(at).inner_text() for at in (0, 3, 4)] == ["web_search", "0.01", "done"]
