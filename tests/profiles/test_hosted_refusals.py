"""What a target refuses by its types or its model is not sent to it: judged as the client wrote it, and as compiled."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt
from dragoman.errors import Unrepresentable

HI = {"role": "user", "content": "Hi"}
SEARCH = {"tools": [{"type": "openrouter:web_search"}]}
SILENT = {"max_tokens": 9, "messages": [HI, {"role": "assistant", "content": ""}, HI]}
LONG = {"max_tokens": 128000, "messages": [HI]}
TOOLS = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HEARD = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1_700_000_000, "transcript": "Hello"}
SPOKEN = {"role": "assistant", "content": None, "audio": HEARD}
BLOCKS = {"role": "assistant", "content": [{"type": "text", "text": "Hello.", "annotations": []}]}
"""An answer as agents on LangChain keep it: what its text has beside it is no member of a part here."""
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SHOWN = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, PICTURE]}
HINTED = {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}
BLIND = (
    "openai/o3-mini",
    "openai/gpt-3.5-turbo",
    "xai/grok-3-mini",
    "moonshot/kimi-k2-thinking",
    "moonshot/moonshot-v1-8k",
    "minimax/MiniMax-M2.7",
    "zai/glm-4.6",
    "mistral/codestral-latest",
    "groq/llama-3.3-70b-versatile",
    "groq/openai/gpt-oss-120b",
    "fireworks/accounts/fireworks/models/deepseek-r1",
    "openrouter/deepseek/deepseek-chat",
    "openrouter/moonshotai/kimi-k2-0905",
    "openrouter/z-ai/glm-4.6",
    "openrouter/openai/gpt-oss-120b",
)
SEEING = (
    "openai/gpt-4o",
    "xai/grok-4",
    "moonshot/kimi-k2.5",
    "moonshot/moonshot-v1-8k-vision-preview",
    "minimax/MiniMax-M3",
    "zai/glm-4.6v",
    "mistral/mistral-medium-latest",
    "groq/meta-llama/llama-4-scout-17b-16e-instruct",
    "fireworks/accounts/fireworks/models/kimi-k2p5",
    "openrouter/z-ai/glm-4.6v",
    "openrouter/qwen/qwen3-vl-235b-a22b-instruct",
    "openrouter/moonshotai/kimi-k2.5",
)
HIDDEN = {"type": "adaptive", "display": "omitted"}
CALLS = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for name in ("call_1", "call_2")
    ],
}
FOUND = [{"role": "tool", "tool_call_id": name, "content": "Found."} for name in ("call_1", "call_2")]
STOPPED = {"messages": [HI, CALLS, FOUND[0], HI]}
ORPHAN = {"messages": [HI, FOUND[0], HI]}
LATE = {"messages": [HI, CALLS, FOUND[0], HI, FOUND[1]]}


def closed(value: dict[str, Any]) -> dict[str, Any]:
    """A schema of one property, as strict mode wants it."""
    return {"type": "object", "properties": {"a": value}, "required": ["a"], "additionalProperties": False}


SCORED = {"type": "json_schema", "json_schema": {"name": "x", "schema": closed({"type": "number", "maximum": 1})}}
EMAIL = {"type": "string", "format": "email", "pattern": r"^(?!\.)(?!.*\.\.)[a-z.]+@x$"}
"""What zod 4 makes of an address."""
MAILED = {"type": "function", "function": {"name": "mail", "parameters": closed(EMAIL), "strict": False}}
ADDRESSED = {"type": "json_schema", "json_schema": {"name": "x", "schema": closed(EMAIL), "strict": True}}
ARTIFACT = {"type": "string", "pattern": r'^[^\p{Cc}\p{Cf}"\\./[\]]{1,200}$'}
"""Of a tool of Claude Code 2.1.265."""
SHOWING = {"type": "function", "function": {"name": "Artifact", "parameters": closed(ARTIFACT)}}
LOOSE = {"type": "function", "strict": False}
RESPONSES = ("openai-responses", "/responses")
CHAT, CLAUDE = ("openai-chat", "/chat/completions"), ("anthropic", "/v1/messages")


@pytest.mark.parametrize(
    ("source", "target", "body"),
    [
        (CHAT, "cerebras/some-model", {"messages": [HI], **SEARCH}),
        (CHAT, "together/some-model", {"messages": [HI], "top_k": 40.0}),
        (CHAT, "fireworks/some-model", {"messages": [HI], "top_k": 40.0}),
        (CHAT, "fireworks/some-model", {"messages": [HI], "top_a": 0.1}),
        (CHAT, "openai/gpt-5.5", {"messages": [HI], "tools": [MAILED]}),
        (CHAT, "azure-openai/gpt-6-astra", {"messages": [HI], "tools": [MAILED]}),
        (CHAT, "openai/gpt-5.5", {"messages": [HI], "response_format": ADDRESSED}),
        *(
            (CHAT, f"{server}/gpt-oss-20b", {"messages": [HI], **asked})
            for server in ("llamacpp", "lmstudio")
            for asked in ({"tools": [MAILED]}, {"response_format": ADDRESSED})
        ),
        *(
            (CHAT, target, {"messages": [HI], "tools": [SHOWING]})
            for target in ("openai/gpt-5.6-luna", "deepseek/deepseek-v4-flash", "zai/glm-5.3")
        ),
        (RESPONSES, "openai-responses/gpt-6-astra", {"input": "Hi", "tools": [{**SHOWING["function"], **LOOSE}]}),
        (RESPONSES, "openai-responses/gpt-5.5", {"input": "Hi", "tools": [{**MAILED["function"], "type": "function"}]}),
        (CHAT, "openai/gpt-4o", {"messages": [HI, SPOKEN, HI]}),
        (CHAT, "azure-openai/gpt-4o", {"messages": [HI, SPOKEN, HI]}),
        (CHAT, "openai/gpt-4o", {"messages": [HI, BLOCKS, HI]}),
        (CHAT, "azure-openai/gpt-4o", {"messages": [HI, BLOCKS, HI]}),
        (CHAT, "openrouter/openai/gpt-4o", {"messages": [HI, BLOCKS, HI]}),
        (CHAT, "vllm/some-model", {"messages": [HI], "tools": [TOOLS, None]}),
        (CHAT, "sglang/some-model", {"messages": [HI], "tools": [TOOLS, None]}),
        (CHAT, "llamacpp/some-model", {"messages": [HI], "tools": [TOOLS, None]}),
        *((CHAT, "moonshot/kimi-k2-0905-preview", body) for body in (STOPPED, ORPHAN, LATE)),
        *((CHAT, "minimax/MiniMax-M2", body) for body in (STOPPED, ORPHAN, LATE)),
        *((CHAT, "qwen/qwen-plus", body) for body in (STOPPED, ORPHAN, LATE)),
        (CHAT, "qwen/qwen-plus", {"messages": [HI], "enable_thinking": True, "thinking_budget": 60000}),
        *((CHAT, target, {"messages": [SHOWN]}) for target in BLIND),
        (CHAT, "groq/llama-3.3-70b-versatile", {"messages": [HI], "stop": [*"abcde"]}),
        (CHAT, "zai/glm-4.6", {"messages": [HI], "stop": [*"abcde"]}),
        (CHAT, "moonshot/kimi-k2.5", {"messages": [HI], "stop": [*"abcdef"]}),
        (CHAT, "deepseek/deepseek-v4-flash", {"messages": [HI], "stop": [*"abcdefghijklmnopq"]}),
        (CHAT, "zai/glm-4v-flash", {"messages": [HI], "max_tokens": 4096}),
        (CHAT, "zai/glm-4v", {"messages": [HI], "max_tokens": 1025}),
        (CHAT, "openrouter/anthropic/claude-sonnet-4.5", {"messages": [HINTED] * 6}),
        (CHAT, "openrouter/anthropic/claude-opus-4.6", {"messages": [HI], "response_format": SCORED}),
        (
            CHAT,
            "openrouter/anthropic/claude-sonnet-4.5",
            {"messages": [HI, CALLS, *FOUND], "reasoning": {"effort": "high"}},
        ),
        (
            CHAT,
            "openrouter/anthropic/claude-sonnet-4.5",
            {"messages": [HI], "tools": [TOOLS], "tool_choice": "required", "reasoning": {"max_tokens": 2000}},
        ),
        (
            CHAT,
            "openrouter/anthropic/claude-sonnet-4.5",
            {"messages": [HI, {"role": "assistant", "content": " "}, HI]},
        ),
        (
            CHAT,
            "openrouter/anthropic/claude-sonnet-4.5",
            {"messages": [HI, {"role": "assistant", "content": "It is "}]},
        ),
        (CHAT, "openrouter/openai/gpt-5", {"messages": [HI], "reasoning": {"effort": "high", "max_tokens": 2000}}),
        *(
            (CLAUDE, "anthropic/claude-opus-4-8", {"messages": [HI], "max_tokens": 9, **asked})
            for limited in (
                {"type": "integer", "minimum": 1},
                {"type": "array", "items": {"type": "string"}, "minItems": 2},
            )
            for asked in (
                {"output_config": {"format": {"type": "json_schema", "schema": closed(limited)}}},
                {"tools": [{"name": "f", "input_schema": closed(limited), "strict": True}]},
            )
        ),
        (CLAUDE, "anthropic/claude-sonnet-4-5", {"messages": [HI], "max_tokens": 1, "thinking": HIDDEN}),
        (CLAUDE, "anthropic/claude-opus-5", {"messages": [HI], "max_tokens": 200_000}),
        (CLAUDE, "anthropic-compatible/claude-sonnet-4-5", SILENT),
        (CLAUDE, "anthropic-compatible/claude-sonnet-4-5", LONG),
        (CLAUDE, "anthropic-compatible-strict/claude-sonnet-4-5", LONG),
    ],
)
def test_it_is_refused_as_written_and_accepted_as_compiled(
    source: tuple[str, str], target: str, body: dict[str, Any]
) -> None:
    dialect, path = source
    name, _, model = target.partition("/")
    wire = orjson.dumps({"model": model, **body})
    sent = adapt(wire, source=dialect, target=target)
    assert judge(name, model, path, sent.headers, wire) is not None
    assert judge(name, model, sent.path, sent.headers, sent.body) is None
    assert sent.changes


def test_a_spoken_answer_goes_back_by_its_id() -> None:
    asked = {"model": "m", "messages": [HI, SPOKEN, HI]}
    assert adapt(asked, source="openai-chat", target="openai/gpt-4o").json["messages"][1]["audio"] == {"id": "audio_1"}
    assert adapt(asked, source="openai-chat", target="openrouter/openai/gpt-4o").json["messages"][1]["audio"] == HEARD


@pytest.mark.parametrize("body", [SILENT, LONG])
def test_a_compatible_server_of_another_model_gets_what_the_client_wrote(body: dict[str, Any]) -> None:
    sent = adapt({"model": "m", **body}, source="anthropic", target="anthropic-compatible/some-model")
    assert sent.changes == ()
    assert sent.json == {"model": "some-model", **body}


@pytest.mark.parametrize("target", ["lmstudio/qwen3-vl-8b", "vllm/moonshotai/Kimi-K2.5"])
def test_pictures_of_results_go_to_a_turn_of_the_user(target: str) -> None:
    """https://github.com/QwenLM/qwen-code/issues/3616, https://github.com/vllm-project/vllm/issues/43203"""
    look = {**CALLS, "tool_calls": CALLS["tool_calls"][:1]}
    shown = {**FOUND[0], "content": [{"type": "text", "text": "Here."}, PICTURE]}
    sent = adapt({"model": "m", "messages": [HI, look, shown]}, source="openai-chat", target=target)
    turns = sent.json["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "user"]
    assert PICTURE in turns[3]["content"]
    assert "image_url" not in str(turns[2])


def test_broken_arguments_reach_glm_as_an_object() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"path": "a'}}
    turns = [HI, {"role": "assistant", "content": "", "tool_calls": [call]}, {**FOUND[0], "tool_call_id": "c"}]
    sent = adapt({"model": "m", "messages": turns}, source="openai-chat", target="zai/glm-4.6").json["messages"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"arguments":"{\\"path\\": \\"a"}'


@pytest.mark.parametrize("target", [*BLIND, *SEEING])
def test_pictures_go_to_models_that_see(target: str) -> None:
    sent = adapt({"model": "m", "messages": [SHOWN]}, source="openai-chat", target=target)
    assert ("iVBORw0KGgo" in sent.body.decode()) == (target in SEEING)
    assert bool([one for one in sent.changes if one.loses == "content"]) == (target in BLIND)
    name, _, model = target.partition("/")
    assert judge(name, model, sent.path, sent.headers, sent.body) is None


@pytest.mark.parametrize("target", ["moonshot/kimi-k2.5", "perplexity/sonar", "qwen/qwen-plus"])
def test_parts_of_other_dialects_are_written_in_chats_own_form(target: str) -> None:
    """It loses nothing, and no vendor of these says that it reads them."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    asked = {"role": "user", "content": [{"type": "input_text", "text": "And this?"}, picture]}
    sent = adapt({"model": "m", "messages": [HI, said, asked]}, source="openai-chat", target=target).json["messages"]
    assert sent[1]["content"] == [{"type": "text", "text": "Hello."}]
    url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    assert sent[2]["content"] == [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": url}]


TOOL = {"name": "look", "input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    "members",
    [
        {"max_completion_tokens": 50},
        {"max_tokens": "50"},
        {"max_tokens": 50, "tools": [TOOL], "tool_choice": "auto"},
        {"max_tokens": 50, "tools": [{"name": "look"}]},
        {"max_tokens": 50, "tools": [{"name": "", "input_schema": {"type": "object"}}, TOOL]},
        {"max_tokens": 50, "stop_sequences": "x"},
        {"max_tokens": 50, "stop_sequences": ["x", ""]},
        {"max_tokens": 50, "thinking": {"type": "disabled", "budget_tokens": None}},
    ],
)
def test_a_compatible_server_gets_settings_in_the_words_of_the_schema(members: dict[str, Any]) -> None:
    body = {"messages": [HI], **members}
    test_it_is_refused_as_written_and_accepted_as_compiled(CLAUDE, "anthropic-compatible/claude-sonnet-4-5", body)


def test_a_stored_prompt_stays_with_its_provider() -> None:
    body = {"model": "m", "prompt": {"id": "pmpt_1"}, "input": "Hi"}
    assert adapt(body, source="openai-responses", target="openai-responses/gpt-5").json["prompt"] == body["prompt"]
    with pytest.raises(Unrepresentable, match="only its provider holds"):
        adapt(body, source="openai-responses", target="xai-responses/grok-4.3")


def test_thinking_goes_to_vllm_where_it_is_read() -> None:
    """https://github.com/vllm-project/vllm/issues/38488"""
    thought = {"role": "assistant", "content": "Hello", "reasoning_content": "Greet."}
    sent = adapt({"model": "m", "messages": [HI, thought, HI]}, source="openai-chat", target="vllm/Qwen/Qwen3-32B")
    assert sent.json["messages"][1] == {"role": "assistant", "content": "Hello", "reasoning": "Greet."}
    assert [(one.rule, one.at) for one in sent.changes] == [("refused-reasoning", "/messages/1/reasoning_content")]


@pytest.mark.parametrize("model", ["glm-4v-plus-0111", "glm-4.6v"])
def test_later_models_that_see_write_as_much_as_is_asked(model: str) -> None:
    asked = {"model": "m", "messages": [HI], "max_tokens": 4096}
    assert adapt(asked, source="openai-chat", target=f"zai/{model}").json["max_tokens"] == 4096
