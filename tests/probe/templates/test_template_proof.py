"""The facts that each of our own templates states, and the proof that they suffice.

Every generated conversation of the laws (and, with `DRAGOMAN_FULL=1`, every recorded request) is compiled for the
profile that a template gives and rendered by that template: without an error, and with every word that was sent in the
prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
import orjson
import pytest
from tests.corpus import FULL, recorded_in
from tests.probe.templates.chat_templates import TEMPLATES
from tests.probe.templates.test_template_renderer import ENDLESS
from tests.strategies import SHAPES, request

from dragoman.engine.library.adapt import adapt
from dragoman.errors import RequestError, TemplateError
from dragoman.probe.findings import FoundBy, facts_found
from dragoman.probe.question import Verdict
from dragoman.probe.template.prober import SERVER_FACTS, TemplateFindings, probe_template
from dragoman.probe.template.prompts import PromptMaker
from dragoman.probe.template.rehearsal import profiles_with
from dragoman.probe.template.renderer import RenderLimits, TemplateEngine
from dragoman.probe.template.sources import TemplateSource
from dragoman.profiles.profile import Profiles, merge

# The default run takes four that have little in common.
CHOSEN = list(TEMPLATES) if FULL else ["llama-3.1", "gemma-1", "deepseek-r1", "smolvlm"]
SEEDS = 200 if FULL else 12
ENOUGH = 0.995
"""The share of pairs that must render."""

ONE_SYSTEM: dict[str, Any] = {"system_count": "one", "system_place": "opening"}
NO_TOOLS: dict[str, Any] = {"flat_tools": True, "drops": ["tools", "reasoning"]}


def differs(refuses: str, **facts: Any) -> dict[str, Any]:
    """The facts of a template that refuses these."""
    return {**dict.fromkeys(refuses.split(), "refuses"), **facts}


EXPECTED = {
    "alpaca": differs("developer_role list_content no_parts", **ONE_SYSTEM, **NO_TOOLS),
    "chatml": differs("list_content no_parts", **NO_TOOLS),
    "command-r": differs(
        "developer_role list_content tools_without_description", schema_form="documented", drops=["reasoning"]
    ),
    "deepseek-r1": differs(
        "developer_role list_content no_parts text_beside_calls",
        **ONE_SYSTEM,
        call_content="null",
        drops=["tools", "reasoning"],
        think_tags=True,
    ),
    "deepseek-v3": differs("developer_role list_content no_parts", drops=["reasoning"]),
    "falcon": differs("list_content no_parts", **NO_TOOLS),
    "functionary": differs("developer_role list_content tools_without_description", drops=["reasoning"]),
    "gemma-1": differs(
        "developer_role repeated_roles list_content no_parts", **NO_TOOLS, system_count="none", first_turn="user"
    ),
    "gemma-3": differs(
        "developer_role repeated_roles system_only list_content no_parts", **ONE_SYSTEM, **NO_TOOLS, first_turn="user"
    ),
    "glm": differs("developer_role list_content no_parts", think_tags=True, reasoning_field="reasoning_content"),
    "gpt-oss": differs(
        "list_content no_parts parallel_calls tools_without_description orphan_result",
        **ONE_SYSTEM,
        call_content="empty",
        drops=["reasoning"],
    ),
    "granite": differs("list_content no_parts", flat_tools=True, drops=["reasoning"]),
    "hermes": differs(
        "developer_role list_content no_parts text_beside_calls tools_without_description",
        schema_form="minimal",
        drops=["reasoning"],
    ),
    "kimi": differs("", flat_tools=True, drops=["reasoning"]),
    "last-word": differs(
        "user_after_tool system_only list_content no_parts missing_result orphan_result late_result",
        system_place="opening",
        first_turn="user",
        last_turn="user",
        drops=["reasoning"],
    ),
    "llama-2": differs(
        "developer_role repeated_roles system_only list_content no_parts", **ONE_SYSTEM, **NO_TOOLS, first_turn="user"
    ),
    "llama-3": differs("list_content no_parts", **NO_TOOLS),
    "llama-3.1": differs(
        "system_only list_content no_parts parallel_calls text_beside_calls", first_turn="user", drops=["reasoning"]
    ),
    "minimax": differs("developer_role list_content orphan_result late_result", **ONE_SYSTEM, drops=["reasoning"]),
    "mistral-v1": differs(
        "developer_role repeated_roles list_content no_parts", **NO_TOOLS, system_count="none", first_turn="user"
    ),
    "mistral-v3": differs(
        "developer_role repeated_roles user_after_tool system_only list_content no_parts text_beside_calls"
        " missing_result orphan_result late_result",
        system_count="none",
        system_place="opening",
        first_turn="user",
        call_id_pattern="[a-zA-Z0-9]{9}",
        drops=["reasoning"],
    ),
    "mistral-v7": differs(
        "developer_role list_content no_parts", call_id_pattern="[a-zA-Z0-9]{9}", drops=["reasoning"]
    ),
    "olmo": differs("developer_role list_content no_parts", **NO_TOOLS, system_count="none"),
    "phi-3": differs("developer_role list_content no_parts", **NO_TOOLS),
    "phi-4": differs("list_content no_parts", flat_tools=True, drops=["tools-without-system", "reasoning"]),
    "qwen-2.5": differs("developer_role list_content no_parts", drops=["reasoning"]),
    "qwen-3": differs(
        "developer_role list_content no_parts",
        call_content="empty",
        think_tags=True,
        reasoning_field="reasoning_content",
    ),
    "qwen-3.5": differs(
        "developer_role system_only list_content",
        **ONE_SYSTEM,
        first_turn="user",
        think_tags=True,
        reasoning_field="reasoning_content",
    ),
    "smollm": differs("developer_role list_content no_parts", **ONE_SYSTEM, **NO_TOOLS),
    "smolvlm": differs("string_content no_parts", **NO_TOOLS),
    "vicuna": differs("developer_role list_content no_parts", **ONE_SYSTEM, **NO_TOOLS),
    "yi": differs("developer_role list_content no_parts", **ONE_SYSTEM, **NO_TOOLS),
    "zephyr": differs("developer_role list_content no_parts", **NO_TOOLS),
}
"""The facts by which a template differs from one that takes everything."""

LENIENT = {
    "system_count": "many",
    "system_place": "anywhere",
    "first_turn": "any",
    "last_turn": "any",
    "call_content": "any",
    "call_id_pattern": "",
    "schema_form": "object",
    "flat_tools": False,
    "drops": [],
    "think_tags": False,
    "reasoning_field": "",
}
LOOKED_AT = {name for facts in EXPECTED.values() for name in facts}


@cache
def probed(name: str) -> TemplateFindings:
    return probe_template(TemplateSource(TEMPLATES[name], origin=name))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CHOSEN)
def test_facts(name: str) -> None:
    found = probed(name)
    differing = {
        fact: found.facts[fact]
        for fact in LOOKED_AT
        if fact in found.facts and found.facts[fact] not in ("accepts", LENIENT.get(fact))
    }
    assert differing == EXPECTED[name]
    assert found.unsolved == ()


@pytest.mark.parametrize("name", CHOSEN)
def test_the_findings_make_the_facts(name: str) -> None:
    """What the report states is what the profile says: facts that come from nowhere have no evidence."""
    found = probed(name)
    made = merge(SERVER_FACTS, facts_found(found.findings, found.questions))
    besides = {"drops", "think_tags", "reasoning_text", "tools"}
    assert {key: value for key, value in found.facts.items() if key not in besides} == {
        key: value for key, value in made.items() if key not in besides
    }
    assert all(one.by is FoundBy.TEMPLATE for one in found.findings)
    assert all(one.says == "" for one in found.findings if one.verdict is not Verdict.REFUSED)


def test_the_templates_own_words_are_the_evidence() -> None:
    words = {one.question: one.says for one in probed("gemma-1").findings}
    assert words["system"] == "System role not supported"
    assert words["repeated-roles"] == "Conversation roles must alternate user/assistant/user/assistant/..."
    assert probed("llama-3.1").facts["parallel_calls"] == "refuses"
    single = {one.question: one.says for one in probed("llama-3.1").findings}
    assert single["parallel-calls"] == "This model only supports single tool-calls at once!"


def asked() -> Iterator[tuple[str, bytes]]:
    for dialect in SHAPES:
        for seed in range(SEEDS):
            yield dialect, request(dialect, seed).body


def recorded() -> Iterator[tuple[str, bytes]]:
    for dialect in SHAPES:
        for exchange in recorded_in(dialect):
            body = exchange["request"] and exchange["request"]["body"]
            if isinstance(body, dict):
                yield dialect, orjson.dumps(body)


class Outcome(msgspec.Struct):
    """What became of the pairs of one template."""

    pairs: int = 0
    rendered: int = 0
    lossy: int = 0
    why: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.rendered / self.pairs


def outcome(name: str, requests: Iterator[tuple[str, bytes]]) -> Outcome:
    found = probed(name)
    profiles = profiles_with(found.facts)
    done = Outcome()
    with PromptMaker(TemplateSource(TEMPLATES[name]), RenderLimits(total=3000)) as prompts:
        prompts.parses = found.parses
        for dialect, body in requests:
            sent = compiled(body, dialect, profiles)
            if sent is not None:
                judge(prompts, sent, done)
    return done


def compiled(body: bytes, dialect: str, profiles: Profiles) -> Any:
    try:
        return adapt(body, source=dialect, target="probed/model", profiles=profiles).json
    except RequestError:
        return None  # not a conversation that anybody but its provider could continue


def judge(prompts: PromptMaker, sent: Mapping[str, Any], done: Outcome) -> None:
    done.pairs += 1
    rendering = prompts.make(sent)
    if rendering.prompt is None:
        done.why[rendering.says[:100]] += 1
        return
    done.rendered += 1
    prompt = squeezed(rendering.prompt)
    lost = [words for words in texts(sent) if squeezed(words) not in prompt]
    if lost:
        done.lossy += 1
        done.why[f"lost: {lost[0][:60]}"] += 1


def squeezed(words: str) -> str:
    """Without white space, quotes and escapes: templates strip, and write JSON."""
    return re.sub(r'\\[a-z"\\/]|[\s"\\]', "", words)


def texts(sent: Mapping[str, Any]) -> Iterator[str]:
    """Every text, name and argument that was sent."""
    for message in sent["messages"]:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        yield from (part["text"] for part in parts if part.get("type") == "text")
        for call in message.get("tool_calls") or ():
            yield call["function"]["name"]
            yield from strings(orjson.loads(call["function"]["arguments"]))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CHOSEN)
def test_every_generated_conversation_renders_with_all_its_words(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = outcome(name, asked())
    with capsys.disabled():
        print(f"\n{name}: {done.rendered} of {done.pairs} pairs render, {done.lossy} lose words {dict(done.why)}")
    assert done.pairs == SEEDS * len(SHAPES)
    assert done.share >= ENOUGH
    assert done.lossy <= (1 - ENOUGH) * done.pairs


@pytest.mark.skipif(not FULL, reason="all recorded requests: DRAGOMAN_FULL=1")
@pytest.mark.parametrize("name", CHOSEN)
def test_every_recorded_request_renders(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = outcome(name, recorded())
    with capsys.disabled():
        print(f"\n{name}: {done.rendered} of {done.pairs} recorded requests render {dict(done.why)}")
    assert done.pairs > 1000
    assert done.share >= ENOUGH


@pytest.mark.slow
def test_llama_cpp_runs_a_template_that_others_refuse() -> None:
    source = TemplateSource(TEMPLATES["kimi"], engine=TemplateEngine.LLAMA_CPP)
    assert "flat_tools" not in probe_template(source).facts


NO_TEMPLATES = {
    "no words": ("{{ 'Hello' }}", "the words of the user are not in the prompt"),
    "a variable that nobody gives": ("{{ wishes.first }}{{ messages }}", "'wishes' is undefined"),
    "no template": ("{% if %}", "no chat template that jinja2 can read"),
}


@pytest.mark.parametrize("name", NO_TEMPLATES)
def test_a_template_that_takes_nothing(name: str) -> None:
    template, words = NO_TEMPLATES[name]
    with pytest.raises(TemplateError, match=re.escape(words)):
        probe_template(TemplateSource(template))


@pytest.mark.slow
def test_a_template_that_slows_down_ends_within_its_budget() -> None:
    """It loops for as long as it is let if a conversation has calls: what is known till then is kept."""
    slow = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}"
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}{% endfor %}"
    )
    found = probe_template(TemplateSource(slow), RenderLimits(seconds=0.2, total=20))
    assert found.facts["flat_tools"] is True
    assert found.facts["system_count"] == "many"


@pytest.mark.slow
def test_a_template_that_was_ended_states_only_what_it_said() -> None:
    """Given calls, it does not come back. No refusal is made of its silence, but calls are written as text."""
    stuck = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'tool' %}"
        f"{ENDLESS}{{% endif %}}{{% endfor %}}{{{{ tools | tojson if tools else '' }}}}"
    )
    found = probe_template(TemplateSource(stuck), RenderLimits(seconds=1, total=3))
    assert found.ended
    assert found.facts["flat_tools"] is True
    assert found.facts["system_count"] == "many"
    assert "parallel_calls" not in found.facts
