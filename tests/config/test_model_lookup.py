"""Where a name leads, in one table: what it means, its targets, and who serves it by its family."""

from __future__ import annotations

import pytest

from dragoman.config.model_lookup import FamilyChoice, find_lead
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import Model
from dragoman.config.schema.providers import Provider
from dragoman.config.schema.routes import ModelRoute
from dragoman.profiles.profile import Profiles

CONFIG = Config(
    providers={"anthropic": Provider(), "groq": Provider(), "openai": Provider()},
    models={
        "fast": Model(target="groq/llama-3.3-70b-versatile", fallbacks=("openai/gpt-4o", "fast")),
        "smart-one": Model(target="anthropic/claude-opus-5"),
        "team-*": Model(target="openai/*"),
    },
    routes={"best": ModelRoute(models=("fast",))},
)
LLAMA = "groq/llama-3.3-70b-versatile"


@pytest.mark.parametrize(
    ("name", "names", "targets"),
    [
        ("fast", ("fast", "fast"), [LLAMA, "openai/gpt-4o"]),
        ("llama-3.3-70b-versatile", ("fast", LLAMA), [LLAMA, "openai/gpt-4o"]),
        ("smart", ("smart-one", "smart"), ["anthropic/claude-opus-5"]),
        ("team-gpt-4o", ("team-gpt-4o", "team-gpt-4o"), ["openai/gpt-4o"]),
        ("groq/anything", ("groq/anything", "groq/anything"), ["groq/anything"]),
        ("claude-sonnet-4-6", ("claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"), ["anthropic/claude-sonnet-4-6"]),
        ("groq/../x", ("groq/../x", "groq/../x"), []),
        ("claude 4", ("claude 4", "claude 4"), []),
        ("team-*", ("team-*", "team-*"), []),
        ("nobody", ("nobody", "nobody"), []),
        ("", ("", ""), []),
    ],
)
def test_a_name_leads_to_targets(name: str, names: tuple[str, str], targets: list[str]) -> None:
    lead = find_lead(CONFIG, Profiles(), name)
    assert lead.names == names
    assert [one.target for one in lead.targets] == targets
    assert lead.candidates is None


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("best", ("fast",)),
        ("auto", ("fast", "smart-one")),
        ("groq/auto", ("fast",)),
        ("my-agent/auto", ("fast", "smart-one")),
        ("mistral/auto", None),
    ],
)
def test_a_route_leads_to_candidates(name: str, candidates: tuple[str, ...] | None) -> None:
    assert find_lead(CONFIG, Profiles(), name).candidates == candidates


def test_a_family_that_several_serve_is_told() -> None:
    config = Config(providers={"home": Provider(profile="openai"), "work": Provider(profile="openai")})
    lead = find_lead(config, Profiles(), "gpt-4o")
    assert lead.targets == ()
    assert lead.family == FamilyChoice("gpt", "", ("home", "work"))
