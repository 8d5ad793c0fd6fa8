"""The models that providers run: nothing is made up, and everything is joined with catalogue and prices."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner
from tests.corpus import exchanges

from dragoman.cli import cli
from dragoman.profiles.models import find_model
from dragoman.profiles.offers import Offer, list_offered_models, list_offered_names, list_offers
from dragoman.profiles.prices import find_price
from dragoman.profiles.profile import builtin_names

RECORDED = {
    "anthropic": ("anthropic.anthropic.jsonl",),
    "openai": ("openai.openai-chat.jsonl",),
    "openai-responses": ("openai.openai-responses.jsonl",),
    "gemini": ("gemini.gemini*.jsonl",),
    "vertex": ("vertex.gemini*.jsonl",),
    "cohere": ("cohere.cohere-chat.jsonl",),
    "cohere-openai": ("cohere.cohere-chat.jsonl",),
    "openrouter": ("openrouter.openai-*.jsonl",),
    "xai": ("xai.openai-*.jsonl",),
    "bedrock": ("bedrock.bedrock-converse.jsonl",),
}
_IN_PATH = re.compile(r"/models?/([^?]+?)(?::|/converse|/invoke)[a-zA-Z-]*$")


def answered(offer: Offer) -> set[str]:
    """The models of recorded requests that were answered."""
    files = RECORDED.get(offer.profile, (f"{offer.profile}.openai-chat.jsonl",))
    return {name for one in exchanges(*files) if (name := _model(one))}


def _model(one: dict[str, Any]) -> str:
    request, response = one.get("request") or {}, one.get("response") or {}
    if not 200 <= (response.get("status") or 0) < 300:
        return ""
    body = request.get("body")
    named = body.get("model") if isinstance(body, dict) else None
    found = _IN_PATH.search(unquote(request.get("path") or ""))
    return named or (found[1] if found else "")


@pytest.mark.parametrize("offer", list_offers(), ids=lambda offer: offer.profile)
def test_every_name_was_answered_or_has_a_price_of_its_own(offer: Offer) -> None:
    seen = answered(offer)
    unseen = [name for name in offer.models if name not in seen]
    priced = "price" in offer.source
    assert [name for name in unseen if not priced or find_price(offer.profile, name) is None] == []


def test_every_offer_is_of_a_profile_and_every_model_in_the_catalogue() -> None:
    assert {offer.profile for offer in list_offers()} <= builtin_names()
    unknown = [one.model for one in list_offered_models() if find_model(one.model) is None]
    assert unknown == []
    for offer in list_offers():
        assert len(set(offer.models)) == len(offer.models) > 0
        assert offer.source


def test_sizes_thinking_and_prices_come_from_where_they_stand() -> None:
    opus = next(one for one in list_offered_models("anthropic") if one.model == "claude-opus-4-8")
    assert (opus.context_window, opus.output_limit, opus.thinking) == (1000000, 128000, True)
    assert (opus.input_price, opus.output_price, opus.cached_price) == (5.0, 25.0, 0.5)
    assert opus.input == ("text", "image", "document")
    gpt = next(one for one in list_offered_models("openai") if one.model == "gpt-4o")
    assert (gpt.context_window, gpt.thinking, gpt.input_price) == (128000, False, 2.5)
    assert list_offered_names("no-such-profile") == ()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["models", *arguments], prog_name="dragoman")


def test_the_command_lists_one_provider_or_all() -> None:
    everything = json.loads(run("--format", "json").output)
    assert {one["provider"] for one in everything} == {offer.profile for offer in list_offers()}
    some = json.loads(run("--format", "json", "--provider", "deepseek").output)
    assert [one["model"] for one in some] == list(list_offered_names("deepseek"))
    shown = run("--provider", "anthropic").output
    assert "claude-opus-5" in shown
    assert "1000000" in shown


def test_a_provider_of_which_nothing_is_known() -> None:
    refused = run("--provider", "antropic")
    assert refused.exit_code == 2
    assert 'Did you mean "anthropic"?' in refused.output + (refused.stderr or "")
