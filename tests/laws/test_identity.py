"""Law 2, identity: what the target accepts in its own dialect goes out as it came in, and nothing is reported."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Any
from urllib.parse import unquote

import msgspec
import orjson
import pytest
from tests.corpus import exchanges, recorded_in, sampled
from tests.judges import judge
from tests.strategies import request
from tests.targets import SEEDS, SWEEPS, TARGETS, signer, split

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.dialects import registry
from dragoman.engine.library.adapt import BUILTIN, adapt
from dragoman.profiles.profile import BodyForm
from dragoman.wire.json_reader import split_members

OWN = {
    ("openai", "openai-chat"): "openai",
    ("openai", "openai-responses"): "openai-responses",
    ("azure-openai", "openai-chat"): "azure-openai",
    ("azure-openai", "openai-responses"): "azure-openai-responses",
    ("azure-foundry", "openai-chat"): "azure-foundry",
    ("azure-foundry", "openai-responses"): "azure-openai-responses",
    ("xai", "openai-responses"): "xai-responses",
    ("anthropic", "anthropic"): "anthropic",
    ("gemini", "gemini"): "gemini",
    ("vertex", "gemini"): "vertex",
    ("cohere", "cohere"): "cohere",
    ("bedrock", "bedrock"): "bedrock",
    ("gemini-compat", "openai-chat"): "gemini-openai",
    ("ollama", "openai-chat"): "ollama-openai",
    ("ollama", "ollama"): "ollama",
    ("moonshotai", "openai-chat"): "moonshot",
    ("alibaba", "openai-chat"): "qwen",
    **{
        (name, "openai-chat"): name
        for name in (
            *("openrouter", "mistral", "deepseek", "groq", "xai", "zai", "cerebras"),
            *("together", "perplexity", "llamacpp"),
        )
    },
}
"""Whose recorded requests are whose own."""

HAND_MADE = frozenset({"56e7431ae65b0f54"})
"""Exchanges that no provider answered: a signature `sig_abc`, ids such as `msg_thinking_003`. They were written for a
test of another project. A signature that cannot be the provider's is foreign, so such a request is repaired."""


def test_recorded_successes_go_out_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    seen: Counter[str] = Counter()
    changed = []
    for exchange in chain.from_iterable(map(recorded_in, DIALECT_NAMES)):
        name = OWN.get((exchange["provider"], exchange["dialect"]))
        asked = exchange["request"]
        if name is None or not asked or not isinstance(asked["body"], dict) or not sampled(exchange["id"], 4):
            continue
        if exchange["id"] in HAND_MADE:
            continue
        model = _model(asked)
        if exchange["response"]["status"] >= 300 or not model:
            continue
        if asked["body"].get("model", model) is None:
            continue  # the path names the model: writing it into the body is what the client asked for
        seen[name] += 1
        body = orjson.dumps(asked["body"])
        dialect = BUILTIN.profile(name).dialect
        stream = "stream" in asked["path"] if registry.dialect(dialect).model_in_path else None
        adapted = adapt(body, source=dialect, target=f"{name}/{model}", stream=stream)
        if adapted.body != body or adapted.changes:
            changed.append((exchange["id"], name, [(change.rule, change.at) for change in adapted.changes]))
    with capsys.disabled():
        print(f"\nlaw 2: {seen.total()} recorded requests, {len(changed)} changed; {dict(seen.most_common(6))}")
    assert changed == []


def test_the_exemptions_were_written_by_hand() -> None:
    """A provider's own answer has an id of the provider's form, and a request that it accepted has its signatures."""
    found = [one for one in exchanges("*.anthropic.jsonl") if one["id"] in HAND_MADE]
    assert len(found) == len(HAND_MADE)
    for one in found:
        assert re.fullmatch("msg_(01|bdrk_|vrtx_)[A-Za-z0-9]{22,}", one["response"]["body"]["id"]) is None
        signatures = re.findall(r'"signature":"([^"]*)"', orjson.dumps(one["request"]["body"]).decode())
        assert signatures
        assert all(len(signature) < 16 for signature in signatures), "no provider issues such a signature"


def _model(asked: dict[str, Any]) -> str:
    if "model" in asked["body"]:
        return str(asked["body"]["model"])
    path = str(asked["path"])
    if path.startswith("/model/"):
        return unquote(path.removeprefix("/model/").rpartition("/")[0])
    return path.partition("/models/")[2].partition(":")[0]


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_what_the_judge_accepts_is_left_alone(target: str, seeds: range) -> None:
    name, model = split(target)
    dialect = BUILTIN.target(target).dialect
    for seed in range(seeds.start * 4, seeds.stop * 4):
        wire = msgspec.json.decode(request(dialect, seed, signer(target)).body)
        if "model" in wire:
            wire["model"] = model
        body = msgspec.json.encode(wire)
        adapted = adapt(body, source=dialect, target=target)
        if _accepted(name, model, adapted.path, adapted.headers, body) and not adapted.changes:
            assert adapted.body == body, seed


def _accepted(name: str, model: str, path: str, headers: Any, body: bytes) -> bool:
    return judge(name, model, path, headers, body) is None


@pytest.mark.parametrize(
    "target", [target for target in TARGETS if "gemini/" not in target and "vertex/" not in target]
)
def test_where_only_the_model_differs_every_other_member_is_the_same_text(target: str) -> None:
    dialect = BUILTIN.target(target).dialect
    for seed in range(SEEDS):
        body = request(dialect, seed, signer(target)).body
        adapted = adapt(body, source=dialect, target=target)
        if adapted.changes:
            continue
        before, after = split_members(body), split_members(adapted.body)
        form = BUILTIN.target(target).profile.body or BodyForm()  # a cloud's path says what the body says elsewhere
        before = {key: value for key, value in before.items() if key not in form.leave_out}
        after = {key: value for key, value in after.items() if key not in form.add}
        assert list(after) == list(before)
        assert {key: bytes(value) for key, value in after.items() if key != "model"} == {
            key: bytes(value) for key, value in before.items() if key != "model"
        }
