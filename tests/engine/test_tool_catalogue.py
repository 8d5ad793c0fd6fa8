"""Searching tools by words: bounded, the same on every turn, and never a pattern."""

from __future__ import annotations

import pytest

from dragoman.conversation.parts import Extras
from dragoman.conversation.tools import Tool
from dragoman.engine.tool_runs.tool_catalogue import MOST_FOUND, find_deferred, search_tools


def tool(name: str, description: str = "", schema: str = "{}") -> Tool:
    extras = Extras("anthropic", {"defer_loading": b"true"})
    return Tool(name, f'"{description}"'.encode(), schema.encode(), extras=extras)


CATALOGUE = (
    tool("send_mail", "Sends a letter to somebody."),
    tool("read_weather", "Tells how warm it is.", '{"properties":{"city":{"description":"Where to measure."}}}'),
    tool("crm__find_customer", "Looks for a customer."),
    tool("broken", "Odd.", '{"properties":[1]}'),
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("weather", ["read_weather"]),
        ("how warm is it?", ["read_weather"]),
        ("measure", ["read_weather"]),
        ("CUSTOMER", ["crm__find_customer"]),
        ("crm__find_customer", ["crm__find_customer"]),
        ("a letter to a customer", ["crm__find_customer", "send_mail"]),
        ("(a+)+$", []),
        (".*", []),
        ("", []),
    ],
)
def test_tools_are_found_by_words_of_name_description_and_arguments(query: str, found: list[str]) -> None:
    names = [one.name for one in search_tools(CATALOGUE, query)]
    assert names[: len(found)] == found
    assert bool(names) == bool(found)


def test_no_more_than_a_few_are_found_in_a_stable_order() -> None:
    many = tuple(tool(f"tool_{number}", "Does a thing.") for number in range(300))
    found = search_tools(many, "thing " * 100_000)
    assert [one.name for one in found] == [f"tool_{number}" for number in range(MOST_FOUND)]


def test_what_is_found_is_no_longer_deferred() -> None:
    shown = find_deferred((CATALOGUE[0], Tool("plain")))
    assert [(one.name, one.extras) for one in shown] == [("send_mail", None)]
