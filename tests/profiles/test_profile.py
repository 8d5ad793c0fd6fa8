"""Layers upon layers: dialect, provider, models, the user's file, the request (Q14)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ProfileError, TargetError
from dragoman.profiles.doubts import Care, settled
from dragoman.profiles.facts import ACCEPTS, REFUSES, TRIED, UNKNOWN, Facts, Medium, Setting
from dragoman.profiles.profile import (
    Layer,
    Models,
    Profile,
    Profiles,
    check_facts,
    make_profile,
    merge,
    patched,
    read_profile,
    read_profiles_file,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "profiles.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("base", "over", "both"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": {"x": {"p": 1}}}, {"a": {"x": {"q": 2}}}, {"a": {"x": {"p": 1, "q": 2}}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"x": 1}}, {"a": "none"}, {"a": "none"}),
        ({"a": "none"}, {"a": {"x": 1}}, {"a": {"x": 1}}),
    ],
)
def test_tables_merge_and_values_replace(base: dict[str, Any], over: dict[str, Any], both: dict[str, Any]) -> None:
    before = repr(base)
    assert merge(base, over) == both
    assert repr(base) == before


@pytest.mark.parametrize(
    ("globs", "model", "fits"),
    [
        ("*claude-opus-4[-.][0-7]*", "claude-opus-4-5-20251101", True),
        ("*claude-opus-4[-.][0-7]*", "anthropic/claude-opus-4.5", True),
        ("*claude-opus-4[-.][0-7]*", "claude-opus-4-8", False),
        ("*GEMMA*", "google/gemma-3", True),
        ("gpt-5", "GPT-5", True),
        (("a*", "b*"), "bee", True),
        (("a*", "b*"), "cee", False),
    ],
)
def test_globs_take_every_spelling(globs: str | tuple[str, ...], model: str, fits: bool) -> None:
    assert Models(globs).fits(model) is fits


def layered(*models: Models, **facts: Any) -> Profile:
    return Profile(dialect="openai-chat", name="mine", facts=facts, models=models)


def test_every_glob_that_matches_applies_and_the_later_wins() -> None:
    profile = layered(
        Models("*", {"first_turn": "user", "last_turn": "user"}, {"late-system": "user"}),
        Models("small*", {"last_turn": "any"}, {"late-system": "opening"}),
        Models("large*", {"first_turn": "any"}),
    )
    target = Profiles({"mine": profile}).target("mine/small-1")
    assert (target.facts.first_turn, target.facts.last_turn) == ("user", "any")
    assert target.choices == {"late-system": "opening"}


def test_layers_come_from_the_weakest_to_the_strongest() -> None:
    profile = layered(Models("s*", {"empty_user": "refuses"}), empty_user="unknown")
    profiles = Profiles({"mine": profile}, [Layer("config", {"empty_user": "accepts"})])
    origins = [layer.origin for layer in profiles.layers(profile, "small")]
    assert origins == ["dialect openai-chat", "mine", "mine s*", "config"]
    assert profiles.target("mine/small").facts.empty_user is ACCEPTS


def test_a_profile_that_is_like_another_corrects_it() -> None:
    facts = Profiles().target("vertex/gemini-2.5-flash").facts
    assert facts.provider == "vertex"
    assert facts.empty_user is REFUSES
    assert facts.undeclared_tools is UNKNOWN
    assert facts.medium("image").result is REFUSES


def test_the_request_has_the_last_word() -> None:
    target = Profiles().target("anthropic/claude-sonnet-4-5")
    changed = patched(target, Layer("request", {"settings": {"top_k": {"max": 40}}}, {"late-system": "user"}))
    assert changed.facts.setting("top_k").max == 40
    assert changed.facts.setting("temperature").max == 1
    assert changed.choices["late-system"] == "user"
    assert target.choices["late-system"] == "opening"


def test_the_provider_is_the_profile_unless_it_says_otherwise() -> None:
    assert Profiles({"mine": layered()}).target("mine/m").facts.provider == "mine"
    assert Profiles({"mine": layered(provider="them")}).target("mine/m").facts.provider == "them"


def test_a_target_is_resolved_once() -> None:
    profiles = Profiles()
    assert profiles.target("openai/gpt-4o") is profiles.target("openai/gpt-4o")


def test_a_model_may_hold_slashes() -> None:
    target = Profiles().target("openrouter/google/gemini-2.5-flash")
    assert (target.profile.name, target.model) == ("openrouter", "google/gemini-2.5-flash")
    assert target.name == "openrouter/google/gemini-2.5-flash"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("antropic/claude", 'Did you mean "anthropic"?'),
        ("gpt-4o", "write openai-responses/gpt-4o"),
        ("mine", "write PROFILE/MODEL"),
        ("openai/", "write PROFILE/MODEL"),
        ("", "write PROFILE/MODEL"),
    ],
)
def test_a_target_that_does_not_exist(target: str, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        Profiles().target(target)
    assert says in str(caught.value)


MINE = """
[mine]
dialect = "openai-chat"
url = "https://llm.example/v1"
key = { env = "MINE_KEY" }

[mine.facts]
first_turn = "user"

[mine.facts.settings]
temperature = { max = 1 }

[mine.rules]
late-system = "fail"

[mine.texts]
leading_user = "Go on."

[[mine.models]]
match = "small-*"
facts = { first_turn = "any" }

[close]
like = "openrouter"
url = "https://close.example/v1"
facts = { cache_hints = "refuses" }
"""


def test_profiles_of_the_users_own(tmp_path: Path) -> None:
    profiles = Profiles(read_profiles_file(written(tmp_path, MINE)))
    large, small = profiles.target("mine/large"), profiles.target("mine/small-1")
    assert (large.facts.first_turn, small.facts.first_turn) == ("user", "any")
    assert large.facts.setting("temperature") == Setting(min=0, max=1)
    assert large.choices["late-system"] == "fail"
    assert large.texts["leading_user"] == "Go on."
    assert large.profile.key.names == ("MINE_KEY",)
    assert "mine" in profiles.names()
    assert "openai" in profiles.names()


def test_a_profile_like_a_builtin_one_has_its_globs_too(tmp_path: Path) -> None:
    target = Profiles(read_profiles_file(written(tmp_path, MINE))).target("close/google/gemini-2.5-flash")
    assert target.dialect == "openai-chat"
    assert target.facts.first_turn == "user"
    assert target.facts.cache_hints is REFUSES


def test_a_table_named_after_a_builtin_profile_corrects_it(tmp_path: Path) -> None:
    profiles = Profiles(read_profiles_file(written(tmp_path, '[anthropic.facts]\nlast_turn = "any"\n')))
    target = profiles.target("anthropic/claude-opus-4-8")
    assert target.facts.last_turn == "any"
    assert target.facts.system_place == "before-answer"
    assert target.profile.url == "https://api.anthropic.com"


@pytest.mark.parametrize("like", ["mine", "openruter"])
def test_like_names_a_profile_of_the_users_or_is_an_error(tmp_path: Path, like: str) -> None:
    path = written(tmp_path, f'{MINE}\n[other]\nlike = "{like}"\n')
    if like == "mine":
        assert Profiles(read_profiles_file(path)).target("other/m").facts.first_turn == "user"
        return
    with pytest.raises(ProfileError, match="openrouter"):
        Profiles(read_profiles_file(path)).target("other/m")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[mine\n", "profiles.toml"),
        ("mine = 3\n", '"mine" is not a table'),
        ('[mine]\ndialect = "openai-chatt"\n', 'Did you mean "openai-chat"?'),
        ('[mine]\ndialect = "openai-chat"\nurll = "x"\n', "urll"),
        ('[mine]\ndialect = "openai-chat"\n[[mine.models]]\nfacts = {}\n', "match"),
        ('[mine]\ndialect = "openai-chat"\n[[mine.evidence]]\nfact = "x"\nseen = "soon"\n', "seen"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read_profiles_file(written(tmp_path, text))
    assert says in str(caught.value)
    assert "profiles.toml" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        read_profiles_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"first_trun": "user"}, "first_turn"),
        ({"first_turn": "assistant"}, "first_turn"),
        ({"empty_user": "maybe"}, "empty_user"),
        ({"settings": {"top_k": {"maximum": 3}}}, "maximum"),
    ],
)
def test_facts_that_do_not_exist_are_refused(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        check_facts(facts, "mine")
    assert says in str(caught.value)
    assert caught.value.at == "mine"


def test_toml_that_is_none_names_its_file() -> None:
    with pytest.raises(ProfileError) as caught:
        read_profile("mine", "x = = 1", "mine.toml")
    assert caught.value.at == "mine.toml"


def test_a_profile_without_a_dialect_is_refused() -> None:
    with pytest.raises(ProfileError, match="dialect"):
        make_profile("mine", {}, "mine.toml")


@pytest.mark.parametrize(
    ("care", "doubt", "form", "tried"),
    [
        (Care.NONE, ACCEPTS, ACCEPTS, ACCEPTS),
        (Care.FORM, ACCEPTS, REFUSES, ACCEPTS),
        (Care.TRANSLATION, REFUSES, REFUSES, ACCEPTS),
        (Care.FULL, REFUSES, REFUSES, REFUSES),
    ],
)
def test_doubt_favours_the_client_in_its_own_dialect_and_care_elsewhere(
    care: Care, doubt: str, form: str, tried: str
) -> None:
    """K41: a doubt about form alone is decided with care at once. K40: what is tried is refused only with full care."""
    facts = Facts(
        empty_user=UNKNOWN,
        odd_call_id=UNKNOWN,
        late_system=TRIED,
        no_parts=ACCEPTS,
        blank_text=REFUSES,
        media={"image": Medium(url=UNKNOWN)},
        settings={"seed": Setting(support=UNKNOWN)},
    )
    found = settled(facts, care)
    assert (found.odd_call_id, found.late_system) == (form, tried)
    assert (found.empty_user, found.no_parts, found.blank_text) == (doubt, ACCEPTS, REFUSES)
    assert (found.medium("image").url, found.medium("image").inline) == (doubt, ACCEPTS)
    assert found.setting("seed").support == doubt


def test_a_file_may_be_one_profile_named_after_it(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text('dialect = "openai-chat"\n\n[facts]\nfirst_turn = "user"\n')
    assert Profiles(read_profiles_file(file)).target("house/m").facts.first_turn == "user"
    file.write_text('dialect = "openai-chat"\n\n[facts]\nfirst_turn = "user"\nfirst_tern = "user"\n')
    with pytest.raises(ProfileError, match=r"house\.toml:5: .*first_tern"):
        read_profiles_file(file)
