"""`setting-range`: settings outside the range that the target takes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman.rules.settings.setting_range import setting_range

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
NUMBERS = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "top_logprobs",
)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(("value", "near"), [(5, 4), (1, 2)])
def test_the_nearest_value_in_range(name: str, value: int, near: int) -> None:
    done = run(setting_range, {"messages": [HI], name: value}, facts(settings={name: {"min": 2, "max": 4}}))
    assert done.json[name] == near
    assert done.changes == [(f"/{name}", "metadata", False)]
    assert done.did == [f"changed {name} from {value} to {near}"]
    assert done.conversation.messages is done.ask.conversation.messages


@pytest.mark.parametrize(("value", "bound", "near"), [(2.5, 2, "2"), (2.5, 1.5, "1.5"), (2, 1.0, "1")])
def test_a_whole_bound_is_written_without_a_point(value: float, bound: float, near: str) -> None:
    done = run(setting_range, {"messages": [HI], "temperature": value}, facts(settings={"temperature": {"max": bound}}))
    assert str(done.json["temperature"]) == near


@pytest.mark.parametrize(("value", "near"), [(40.0, "40"), (40.4, "40")])
def test_a_setting_that_must_be_whole(value: float, near: str) -> None:
    done = run(setting_range, {"messages": [HI], "top_k": value}, facts(settings={"top_k": {"whole": True}}))
    assert str(done.json["top_k"]) == near
    assert done.changes == [("/top_k", "metadata", False)]


def test_more_stop_sequences_than_the_target_takes() -> None:
    done = run(setting_range, {"messages": [HI], "stop": ["a", "b", "c"]}, facts(stop_max=2))
    assert done.json["stop"] == ["a", "b"]
    assert done.changes == [("/stop", "metadata", False)]


UNTOUCHED = {
    "in range": ({"temperature": 1}, facts(settings={"temperature": {"min": 0, "max": 1}})),
    "no range": ({"temperature": 9}, facts()),
    "another setting": ({"seed": 9}, facts(settings={"temperature": {"max": 1}})),
    "whole already": ({"top_k": 40}, facts(settings={"top_k": {"whole": True}})),
    "as many stop sequences as it takes": ({"stop": ["a", "b"]}, facts(stop_max=2)),
    "any number of stop sequences": ({"stop": ["a", "b"]}, facts(stop_max=0)),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    settings, known = UNTOUCHED[name]
    assert run(setting_range, {"messages": [HI], **settings}, known).untouched


def test_adapt_for_real_providers() -> None:
    hot = {"messages": [HI], "max_tokens": 9, "temperature": 1.5}
    done = sent(hot, "anthropic/claude-sonnet-4-5", source=CHAT)
    assert done.json["temperature"] == 1
    assert done.changes == [("setting-range", "/temperature", "metadata", False)]
    assert sent(hot, "openai/gpt-4o").changes == []
    stops = sent({"messages": [HI], "stop": ["a", "b", "c", "d", "e"]}, "openai/gpt-4o")
    assert stops.json["stop"] == ["a", "b", "c", "d"]


def test_adapt_writes_a_whole_number_without_a_point_and_without_a_word() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 40.0}}
    done = sent(body, "anthropic/claude-sonnet-4-5", source="gemini")
    assert str(done.json["top_k"]) == "40"
    assert "setting-range" not in {change[0] for change in done.changes}


@pytest.mark.parametrize(
    ("limit", "above", "said"), [(9000, "refuses", 4096), (9000, "accepts", 9000), (100, "refuses", 100)]
)
def test_a_token_limit_that_the_model_can_reach(limit: int, above: str, said: int) -> None:
    known = facts(output_limit=4096, above_output_limit=above)
    done = run(setting_range, f"@max_tokens {limit}\nuser: Hi", known)
    assert done.conversation.settings.max_tokens == said
    assert done.changes == ([] if limit == said else [("/max_tokens", "metadata", False)])


def test_adapt_moves_a_token_limit_of_another_dialect() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 200_000}
    assert sent(asked, "anthropic/claude-3-haiku-20240307", source=CHAT).json["max_tokens"] == 4096
    assert sent(asked, "anthropic/claude-3-haiku-20240307", source="anthropic").json["max_tokens"] == 200_000


@pytest.mark.parametrize("name", ["user", "prompt_cache_key"])
def test_a_name_that_is_too_long_becomes_its_digest(name: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], name: "x" * 65}
    done = sent(body, "openai/gpt-4o")
    assert len(done.json[name]) == 32
    assert (
        done.json[name]
        == sent(body, "openai/gpt-4o").json[name]
        != sent({**body, name: "y" * 65}, "openai/gpt-4o").json[name]
    )
    assert done.changes == [("setting-range", f"/{name}", "metadata", False)]
    assert sent({**body, name: "x" * 64}, "openai/gpt-4o").changes == []


def test_adapt_claude_codes_user_is_a_digest_for_openai() -> None:
    user = "user_" + "a" * 64 + "_account__session_" + "b" * 36
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "metadata": {"user_id": user}}
    assert len(sent(body, "openai/gpt-4o", source="anthropic").json["user"]) == 32
    assert sent(body, "anthropic/claude-sonnet-4-5", source="anthropic").json["metadata"] == {"user_id": user}


LIMITS: dict[str, Any] = {"settings": {"metadata": {"pairs": 16, "key_length": 64, "length": 512}}}


@pytest.mark.parametrize(
    "given", [{f"k{n}": "v" for n in range(17)}, {"k" * 65: "v"}, {"k": "v" * 513}, {"k" * 99: "é" * 999, "a": "b"}]
)
def test_metadata_is_kept_within_its_limits(given: dict[str, str]) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "metadata": given}
    done = run(setting_range, body, facts(**LIMITS))
    kept = done.json["metadata"]
    assert 0 < len(kept) <= 16
    assert all(len(key) <= 64 and len(value) <= 512 for key, value in kept.items())
    assert done.changes == [("/metadata", "metadata", False)]
    assert run(setting_range, body, facts()).untouched
    assert run(setting_range, body | {"metadata": kept}, facts(**LIMITS)).untouched


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "openai/gpt-5.6", "azure-openai/gpt-4o", "openai-compatible-strict/m"]
)
def test_metadata_as_real_targets_take_it(target: str) -> None:
    largest = {f"{n:064}": "v" * 512 for n in range(16)}
    body = {"model": target.partition("/")[2], "messages": [{"role": "user", "content": "Hi"}], "metadata": largest}
    assert sent(body, target).json["metadata"] == largest
    more = sent({**body, "metadata": {**largest, "x" * 70: "y"}}, target)
    assert more.json["metadata"] == largest
    assert [change[:3] for change in more.changes] == [("setting-range", "/metadata", "metadata")]


def test_a_user_of_another_form_becomes_a_digest_for_deepseek() -> None:
    def written(user: Any) -> Any:
        done = sent({"messages": [{"role": "user", "content": "Hi"}], "user_id": user}, "deepseek/deepseek-chat")
        return done.json["user_id"], [change[:3] for change in done.changes]

    assert written("user-7_A") == ("user-7_A", [])
    assert written(None) == (None, [])
    for odd in ("a b", "me@a.org", "", "x" * 513, 'quo"te'):
        first, changes = written(odd)
        assert re.fullmatch("[a-f0-9]{32}", first)
        assert changes == [("setting-range", "/user_id", "metadata")]
        assert written(odd)[0] == first


@pytest.mark.parametrize(
    ("stop", "kept", "loses"),
    [(["END", ""], ["END"], "nothing"), (["\n\n", "END"], ["END"], "metadata"), ([" "], None, "metadata")],
)
def test_c22_stop_sequences_that_claude_refuses_are_left_out(stop: list[str], kept: Any, loses: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "stop": stop}
    done = sent(body, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert done.json.get("stop_sequences") == kept
    assert done.changes == [("setting-range", "/stop", loses, False)]
    assert sent(body, "openai/gpt-4o").json["stop"] == stop


def test_an_e_mail_address_becomes_a_digest_where_the_target_refuses_it() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "user": "ann@example.com"}
    done = sent(body, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert "@" not in done.json["metadata"]["user_id"]
    assert done.changes == [("setting-range", "/user", "metadata", False)]
    assert sent({**body, "user": "ann@home"}, "anthropic/claude-sonnet-4-5", source="openai-chat").changes == []
