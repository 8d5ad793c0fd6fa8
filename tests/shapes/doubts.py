"""For facts that a profile may leave open: a request that depends on each, and a pattern by which a body shows it.

A fact that declares a conversation by which it is asked for needs none here (`asked_doubts.py`).

A provider that refuses such bodies, and does not say why, refuses the request as it came and accepts it with care.
"""

from __future__ import annotations

from typing import Any

import msgspec
from tests.by_dialect import ByDialect
from tests.shapes.words import PAPER, PIXEL, SOUND

Wire = dict[str, Any]


class DoubtCase(msgspec.Struct, frozen=True):
    """A request that depends on one fact, and the pattern that a body which shows it matches."""

    body: Wire
    pattern: str


SCHEMA: Wire = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def _chat(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": list(messages), **more}


HI: Wire = {"role": "user", "content": "Hi"}
GO: Wire = {"role": "user", "content": "Go on"}
OK: Wire = {"role": "assistant", "content": "OK"}
TOOL: Wire = {"type": "function", "function": {"name": "f", "description": "It.", "parameters": SCHEMA}}


def _call(identity: str = "call_1", arguments: str = '{"city":"Paris"}', **more: Any) -> Wire:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def _calls(*calls: Wire, **more: Any) -> Wire:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def _result(identity: str = "call_1", content: Any = "12 degrees") -> Wire:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def _parts(*parts: Wire) -> Wire:
    return {"role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


_CITED: Wire = {"type": "url_citation", "url_citation": {"url": "https://a.b", "title": "A"}}
_IMAGE: Wire = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
_LINKED: Wire = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
_PAPER: Wire = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"}}
_TOOLED: Wire = {"tools": [TOOL]}


def _set(**setting: Any) -> DoubtCase:
    ((name, _),) = setting.items()
    return DoubtCase(_chat(HI, **setting), f'"{name}":')


def _set_thinking(**setting: Any) -> DoubtCase:
    ((name, _),) = setting.items()
    return DoubtCase(_chat(HI, reasoning_effort="low", **setting), f'"{name}":')


_MISTYPED = DoubtCase(
    _chat(_parts({"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{PIXEL}"}})), "data:image/jpeg"
)
_BILLED = "x-anthropic-billing-header: cc_version=2.1"

CHAT: dict[str, DoubtCase] = {
    "mistyped_media": _MISTYPED,
    "vendor_header": DoubtCase(_chat({"role": "system", "content": _BILLED}, HI), "billing-header"),
    "duplicate_ids": DoubtCase(
        _chat(HI, _calls(_call()), _result(), OK, GO, _calls(_call()), _result(), **_TOOLED),
        r'"tool_calls":\[\{"id":"(\w+)".*"tool_calls":\[\{"id":"\1"',
    ),
    "duplicate_ids_in_turn": DoubtCase(
        _chat(HI, _calls(_call(), _call()), _result(), _result(), **_TOOLED),
        r'"tool_calls":\[\{"id":"(\w+)"[^]]*"id":"\1"',
    ),
    "odd_call_id": DoubtCase(
        _chat(HI, _calls(_call("odd id!")), _result("odd id!"), **_TOOLED), r'"tool_call_id":"odd id!"'
    ),
    "thought_in_id": DoubtCase(
        _chat(HI, _calls(_call("call_2__thought__c2ln")), _result("call_2__thought__c2ln"), **_TOOLED), r"__thought__"
    ),
    "past_signature": DoubtCase(
        _chat(HI, _calls(_call()), _result(), OK, GO, **_TOOLED), r'"tool_calls":(?!.*thought_signature)'
    ),
    "empty_required": DoubtCase(
        _chat(HI, tools=[{"type": "function", "function": {"name": "f", "parameters": {**SCHEMA, "required": []}}}]),
        r'"required":\[\]',
    ),
    "prefill_mark": DoubtCase(_chat(HI, {**OK, "prefix": True}), r'"prefix":true'),
    "system_only": DoubtCase(_chat({"role": "system", "content": "Be brief."}), r'^(?!.*"role":"user")'),
    "late_system": DoubtCase(
        _chat(HI, OK, {"role": "system", "content": "Be brief."}, GO), r'"role":"assistant".*"role":"system"'
    ),
    "citation_part": DoubtCase(
        _chat(
            HI,
            {**OK, "annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.b", "title": "A"}}]},
            GO,
        ),
        r'"annotations":\[\{',
    ),
    "legacy_calls": DoubtCase(
        _chat(
            HI,
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "12 degrees"},
        ),
        r'"function_call":|"role":"function"',
    ),
    "part_fields": DoubtCase(
        _chat({"role": "user", "content": [{"type": "text", "text": "Hi", "mood": "good"}]}), r'"mood":'
    ),
    "two_limits": DoubtCase(
        _chat(HI, max_tokens=50, max_completion_tokens=50),
        r'"max_tokens".*"max_completion_tokens"|"max_completion_tokens".*"max_tokens"',
    ),
    "null_settings": DoubtCase(_chat(HI, temperature=None), r'"temperature":null'),
    "media_detail": DoubtCase(
        _chat(_parts({"type": "image_url", "image_url": {**_IMAGE["image_url"], "detail": "low"}})), r'"detail":"low"'
    ),
    "odd_reasoning_field": DoubtCase(_chat(HI, {**OK, "thinking": "Hm.", "reasoning_text": "Hm."}, GO), r'"Hm\."'),
    "empty_tools": DoubtCase(_chat(HI, tools=[]), r'"tools":\[\]'),
    "choice_without_tools": DoubtCase(_chat(HI, tool_choice="auto"), r'"tool_choice":'),
    "odd_choice": DoubtCase(_chat(HI, tool_choice="any", **_TOOLED), r'"tool_choice":"any"'),
    "forced_choice_thinking": DoubtCase(
        _chat(HI, tool_choice="required", thinking={"type": "enabled"}, reasoning={"effort": "high"}, **_TOOLED),
        r'"tool_choice":"required"',
    ),
    "odd_thinking_field": DoubtCase(_chat(HI, thinking={"type": "enabled", "budget_tokens": 1024}), r'"thinking":\{'),
    "undeclared_tools": DoubtCase(_chat(HI, _calls(_call()), _result()), r'^(?!.*"tools":).*"tool_calls":'),
    "off_schema": DoubtCase(
        _chat({"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}), r'"type":"input_text"'
    ),
    "above_output_limit": DoubtCase(_chat(HI, max_tokens=100_000_000), r'"max_(completion_)?tokens":100000000'),
    "thinking": DoubtCase(_chat(HI, reasoning_effort="high"), r'"reasoning_effort":'),
    "media.image.inline": DoubtCase(_chat(_parts(_IMAGE)), r"data:image/png"),
    "media.image.url": DoubtCase(_chat(_parts(_LINKED)), r'"image_url":\{"url":"https:'),
    "media.image.result": DoubtCase(
        _chat(HI, _calls(_call()), _result(content=[_IMAGE]), **_TOOLED), r'"role":"tool"[^]]*data:image/png'
    ),
    "media.audio.inline": DoubtCase(
        _chat(_parts({"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}})), r'"input_audio":'
    ),
    "media.document.inline": DoubtCase(_chat(_parts(_PAPER)), r"data:application/pdf"),
    "media.document.stored": DoubtCase(_chat(_parts({"type": "file", "file": {"file_id": "file-abc"}})), r'"file_id":'),
    "media.document.result": DoubtCase(
        _chat(HI, _calls(_call()), _result(content=[_PAPER]), **_TOOLED), r'"role":"tool"[^]]*data:application/pdf'
    ),
    "media.video.inline": DoubtCase(
        _chat(_parts({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}})), r"data:video/mp4"
    ),
    "media.video.url": DoubtCase(
        _chat(_parts({"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}})), r'"video_url":'
    ),
    "settings.min_p.support": _set(min_p=0.1),
    "settings.top_k.support": _set(top_k=40),
    "settings.user.support": _set(user="u"),
    "settings.service_tier.support": _set(service_tier="auto"),
    "settings.verbosity.support": _set(verbosity="low"),
    "settings.presence_penalty.support": _set(presence_penalty=0.5),
    "settings.frequency_penalty.support": _set(frequency_penalty=0.5),
    "settings.stop.support": _set(stop="END"),
    "settings.seed.support": _set(seed=7),
    "settings.logprobs.support": _set(logprobs=True),
    "settings.top_logprobs.support": _set(top_logprobs=2),
    "settings.metadata.support": _set(metadata={"k": "v"}),
    "settings.prompt_cache_key.support": _set(prompt_cache_key="k"),
    "settings.store.support": _set(store=False),
    "settings.parallel_tool_calls.support": DoubtCase(
        _chat(HI, parallel_tool_calls=False, **_TOOLED), r'"parallel_tool_calls":'
    ),
    "settings.top_p.thinking": _set_thinking(top_p=0.5),
    "settings.presence_penalty.thinking": _set_thinking(presence_penalty=0.5),
    "settings.frequency_penalty.thinking": _set_thinking(frequency_penalty=0.5),
    "settings.logprobs.thinking": _set_thinking(logprobs=True),
    "settings.top_logprobs.thinking": _set_thinking(top_logprobs=2),
}


def _claude(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "max_tokens": 4000, "messages": list(messages), **more}


CLAUDE_TOOL: Wire = {"name": "f", "description": "It.", "input_schema": SCHEMA}


def _use(*identities: str) -> Wire:
    uses = [{"type": "tool_use", "id": one, "name": "f", "input": {"city": "Paris"}} for one in identities]
    return {"role": "assistant", "content": uses}


def _told(*identities: str, content: Any = "12 degrees") -> Wire:
    results = [{"type": "tool_result", "tool_use_id": one, "content": content} for one in identities]
    return {"role": "user", "content": results}


def _blocks(*blocks: Wire) -> Wire:
    return {"role": "user", "content": [{"type": "text", "text": "Look"}, *blocks]}


def _image(**source: Any) -> Wire:
    return {"type": "image", "source": source}


def _document(**source: Any) -> Wire:
    return {"type": "document", "source": source}


_PDF: Wire = {"type": "base64", "media_type": "application/pdf", "data": PAPER}
_PNG: Wire = {"type": "base64", "media_type": "image/png", "data": PIXEL}

ANTHROPIC: dict[str, DoubtCase] = {
    "empty_stop": DoubtCase(_claude(HI, stop_sequences=["END", ""]), r'"END",""'),
    "no_user_parts": DoubtCase(_claude(HI, OK, {"role": "user", "content": []}), r'"content":\[\]'),
    "thought_in_id": DoubtCase(
        _claude(HI, _use("call_2__thought__c2ln"), _told("call_2__thought__c2ln"), tools=[CLAUDE_TOOL]), r"__thought__"
    ),
    "empty_required": DoubtCase(
        _claude(HI, tools=[{**CLAUDE_TOOL, "input_schema": {**SCHEMA, "required": []}}]), r'"required":\[\]'
    ),
    "thinking_visible": DoubtCase(
        _claude(HI, thinking={"type": "enabled", "budget_tokens": 1024, "display": "summarized"}), r'"display":'
    ),
    "late_system": DoubtCase(_claude(HI, {"role": "system", "content": "Be brief."}, OK, GO), r'"role":"system"'),
    "citation_part": DoubtCase(
        _claude(
            HI,
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "text",
                        "text": "So.",
                        "citations": [
                            {
                                "type": "char_location",
                                "cited_text": "x",
                                "document_index": 0,
                                "document_title": None,
                                "start_char_index": 0,
                                "end_char_index": 1,
                            }
                        ],
                    }
                ],
            },
            GO,
        ),
        r'"citations":\[\{',
    ),
    "native_blocks": DoubtCase(
        _claude(
            HI,
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
                    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                    {"type": "text", "text": "So."},
                ],
            },
            GO,
        ),
        r'"server_tool_use"',
    ),
    "duplicate_ids": DoubtCase(
        _claude(HI, _use("toolu_1"), _told("toolu_1"), OK, GO, _use("toolu_1"), _told("toolu_1"), tools=[CLAUDE_TOOL]),
        r'"id":"(\w+)".*"id":"\1"',
    ),
    "undeclared_tools": DoubtCase(_claude(HI, _use("toolu_1"), _told("toolu_1")), r'^(?!.*"tools":).*"tool_use"'),
    "empty_tools": DoubtCase(_claude(HI, tools=[]), r'"tools":\[\]'),
    "off_schema": DoubtCase(_claude(HI, stop_sequences="END"), r'"stop_sequences":"'),
    "above_output_limit": DoubtCase({**_claude(HI), "max_tokens": 100_000_000}, r'"max_tokens":100000000'),
    "thinking": DoubtCase(_claude(HI, thinking={"type": "enabled", "budget_tokens": 2000}), r'"thinking":'),
    "settings.service_tier.support": DoubtCase(_claude(HI, service_tier="auto"), r'"service_tier":'),
    "cache_scope": DoubtCase(
        _claude(_blocks({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "scope": "global"}})),
        r'"scope":',
    ),
    "deferred_hint": DoubtCase(
        _claude(
            HI,
            tools=[
                CLAUDE_TOOL,
                {**CLAUDE_TOOL, "name": "g", "defer_loading": True, "cache_control": {"type": "ephemeral"}},
            ],
        ),
        r'"defer_loading":true,"cache_control":',
    ),
    "all_deferred": DoubtCase(
        _claude(HI, tools=[{**CLAUDE_TOOL, "defer_loading": True}]),
        r'"defer_loading":true',
    ),
    "late_long_hint": DoubtCase(
        _claude(
            _blocks(
                {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "there", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            )
        ),
        r'"ttl":"1h"',
    ),
    "media.image.url": DoubtCase(
        _claude(_blocks(_image(type="url", url="https://example.com/cat.png"))), r'"source":\{"type":"url"'
    ),
    "media.image.stored": DoubtCase(_claude(_blocks(_image(type="file", file_id="file_1"))), r'"file_id":'),
    "media.image.result": DoubtCase(
        _claude(HI, _use("toolu_1"), _told("toolu_1", content=[_image(**_PNG)]), tools=[CLAUDE_TOOL]),
        r'"tool_result"[^]]*"type":"image"',
    ),
    "media.document.inline": DoubtCase(_claude(_blocks(_document(**_PDF))), r'"media_type":"application/pdf"'),
    "media.document.url": DoubtCase(
        _claude(_blocks(_document(type="url", url="https://example.com/a.pdf"))), r'"type":"document"'
    ),
    "media.document.stored": DoubtCase(_claude(_blocks(_document(type="file", file_id="file_1"))), r'"file_id":'),
    "media.document.plain": DoubtCase(
        _claude(_blocks(_document(type="text", media_type="text/plain", data="Words."))), r'"type":"document"'
    ),
    "media.document.assistant": DoubtCase(
        _claude(
            HI,
            {
                "role": "assistant",
                "content": [
                    _document(type="text", media_type="text/plain", data="Words."),
                    {"type": "text", "text": "So."},
                ],
            },
            GO,
        ),
        r'"type":"document"',
    ),
    "media.document.result": DoubtCase(
        _claude(HI, _use("toolu_1"), _told("toolu_1", content=[_document(**_PDF)]), tools=[CLAUDE_TOOL]),
        r'"tool_result"[^]]*"type":"document"',
    ),
}


def _gemini(*contents: Wire, **more: Any) -> Wire:
    return {"contents": list(contents), **more}


def _turn(*parts: Any, role: str = "user") -> Wire:
    return {"role": role, "parts": [{"text": one} if isinstance(one, str) else one for one in parts]}


def _asked(name: str = "f", **more: Any) -> Wire:
    return {"functionCall": {"name": name, "args": {"city": "Paris"}, **more}}


def _answered(name: str = "f", **more: Any) -> Wire:
    return {"functionResponse": {"name": name, "response": {"output": "12 degrees"}, **more}}


_DECLARED: Wire = {
    "tools": [
        {
            "functionDeclarations": [
                {"name": name, "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}
                for name in ("f", "g")
            ]
        }
    ]
}


def _linked(mime: str) -> DoubtCase:
    part = {"fileData": {"mimeType": mime, "fileUri": "https://example.com/a"}}
    return DoubtCase(_gemini(_turn("Look", part)), r'"fileUri":"https://example')


def _shown(mime: str) -> DoubtCase:
    media = {"inlineData": {"mimeType": mime, "data": PIXEL}}
    contents = (_turn("Hi"), _turn(_asked(), role="model"), _turn(_answered(parts=[media])))
    return DoubtCase(_gemini(*contents, **_DECLARED), r'"response":\{"output":"12 degrees"\},"parts":')


GEMINI: dict[str, DoubtCase] = {
    "mistyped_media": DoubtCase(
        _gemini(_turn("Look", {"inlineData": {"mimeType": "image/jpeg", "data": PIXEL}})), "image/jpeg"
    ),
    "vendor_header": DoubtCase(
        _gemini(_turn("Hi"), systemInstruction={"parts": [{"text": _BILLED}]}), "billing-header"
    ),
    "thought_in_id": DoubtCase(
        _gemini(
            _turn("Hi"),
            _turn(_asked(id="call_2__thought__c2ln"), role="model"),
            _turn(_answered(id="call_2__thought__c2ln")),
            **_DECLARED,
        ),
        r"__thought__",
    ),
    "past_signature": DoubtCase(
        _gemini(
            _turn("Hi"),
            _turn(_asked(), role="model"),
            _turn(_answered()),
            _turn("OK", role="model"),
            _turn("Go on"),
            **_DECLARED,
        ),
        r'"functionCall":(?!.*thoughtSignature)',
    ),
    "empty_required": DoubtCase(
        _gemini(
            _turn("Hi"),
            tools=[
                {
                    "functionDeclarations": [
                        {
                            "name": "f",
                            "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": []},
                        }
                    ]
                }
            ],
        ),
        r'"required":\[\]',
    ),
    "empty_tools": DoubtCase(_gemini(_turn("Hi"), tools=[]), r'"tools":\[\]'),
    "above_output_limit": DoubtCase(
        _gemini(_turn("Hi"), generationConfig={"maxOutputTokens": 100_000_000}), r'"maxOutputTokens":100000000'
    ),
    "thinking": DoubtCase(
        _gemini(_turn("Hi"), generationConfig={"thinkingConfig": {"thinkingBudget": 2000}}), r'"thinkingBudget":2000'
    ),
    "null_settings": DoubtCase(_gemini(_turn("Hi"), safetySettings=None), r'"safetySettings":null'),
    "result_order": DoubtCase(
        _gemini(
            _turn("Hi"),
            _turn(_asked("f"), _asked("g"), role="model"),
            _turn(_answered("g"), _answered("f")),
            **_DECLARED,
        ),
        r'"functionResponse":\{"name":"g".*"functionResponse":\{"name":"f"',
    ),
    "mixed_tools": DoubtCase(
        _gemini(_turn("Hi"), tools=[*_DECLARED["tools"], {"googleSearch": {}}]),
        r'"functionDeclarations".*"googleSearch"',
    ),
    "media.audio.url": _linked("audio/wav"),
    "media.document.url": _linked("application/pdf"),
    "media.video.url": _linked("video/mp4"),
    "media.audio.result": _shown("audio/wav"),
    "media.video.result": _shown("video/mp4"),
}


def _responses(*items: Wire, **more: Any) -> Wire:
    return {"model": "m", "input": list(items), **more}


_FUNCTION: Wire = {"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}


def _item(identity: str = "call_1") -> Wire:
    return {"type": "function_call", "call_id": identity, "name": "f", "arguments": '{"city":"Paris"}'}


def _output(identity: str = "call_1") -> Wire:
    return {"type": "function_call_output", "call_id": identity, "output": "12 degrees"}


def _look(part: Wire) -> Wire:
    return {"role": "user", "content": [{"type": "input_text", "text": "Look"}, part]}


_WRITTEN: Wire = {"type": "output_text", "text": "OK"}
_NOTE: Wire = {"type": "url_citation", "url": "https://a.b", "title": "A", "start_index": 0, "end_index": 2}

RESPONSES: dict[str, DoubtCase] = {
    "mistyped_media": DoubtCase(
        _responses(_look({"type": "input_image", "image_url": f"data:image/jpeg;base64,{PIXEL}", "detail": "auto"})),
        "data:image/jpeg",
    ),
    "media.image.system": DoubtCase(
        _responses(
            {"role": "system", "content": [{"type": "input_image", "image_url": "https://a.example/b.png"}]}, HI
        ),
        r'"role":"system","content":\[\{"type":"input_image"',
    ),
    "media.document.system": DoubtCase(
        _responses({"role": "system", "content": [{"type": "input_file", "file_url": "https://a.example/b.pdf"}]}, HI),
        r'"role":"system","content":\[\{"type":"input_file"',
    ),
    "vendor_header": DoubtCase(_responses({"role": "system", "content": _BILLED}, HI), "billing-header"),
    "system_only": DoubtCase(_responses({"role": "system", "content": "Be brief."}), r'^(?!.*"role":"user")'),
    "no_user_parts": DoubtCase(_responses(HI, OK, {"role": "user", "content": []}), r'"content":\[\]'),
    "thought_in_id": DoubtCase(
        _responses(HI, _item("call_2__thought__c2ln"), _output("call_2__thought__c2ln"), tools=[_FUNCTION]),
        r"__thought__",
    ),
    "duplicate_ids": DoubtCase(
        _responses(HI, _item(), _output(), OK, GO, _item(), _output(), tools=[_FUNCTION]),
        r'"function_call","call_id":"(\w+)".*"function_call","call_id":"\1"',
    ),
    "empty_required": DoubtCase(
        _responses(HI, tools=[{**_FUNCTION, "parameters": {**SCHEMA, "required": []}}]), r'"required":\[\]'
    ),
    "odd_choice": DoubtCase(_responses(HI, tools=[_FUNCTION], tool_choice="any"), r'"tool_choice":"any"'),
    "above_output_limit": DoubtCase(_responses(HI, max_output_tokens=100_000_000), r'"max_output_tokens":100000000'),
    "thinking": DoubtCase(_responses(HI, reasoning={"effort": "high"}), r'"effort":'),
    "media.image.stored": DoubtCase(
        _responses(_look({"type": "input_image", "file_id": "file-abc", "detail": "auto"})), r'"file_id":'
    ),
    "media.audio.inline": DoubtCase(
        _responses(_look({"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}})), r'"input_audio":'
    ),
    "media.document.stored": DoubtCase(_responses(_look({"type": "input_file", "file_id": "file-abc"})), r'"file_id":'),
    "media.document.inline": DoubtCase(
        _responses(
            _look({"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"})
        ),
        r'"file_data":',
    ),
    "media.document.url": DoubtCase(
        _responses(_look({"type": "input_file", "file_url": "https://example.com/a.pdf"})), r'"file_url":'
    ),
    "choice_without_tools": DoubtCase(_responses(HI, tool_choice="auto"), r'"tool_choice":'),
    "citation_part": DoubtCase(
        _responses(HI, {"role": "assistant", "content": [_WRITTEN | {"annotations": [_NOTE]}]}, GO), r'"url_citation"'
    ),
    "empty_tools": DoubtCase(_responses(HI, tools=[]), r'"tools":\[\]'),
    "off_schema": DoubtCase(_responses(HI, tools=[TOOL]), r'"type":"function","function":'),
}

_SEEN: Wire = {"role": "tool", "tool_name": "f", "content": "12 degrees", "images": [PIXEL]}
_OLLAMA_CALL: Wire = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}

OLLAMA: dict[str, DoubtCase] = {
    "vendor_header": DoubtCase(_chat({"role": "system", "content": _BILLED}, HI), "billing-header"),
    "late_system": DoubtCase(_chat(HI, OK, {"role": "system", "content": "Be brief."}, GO), r'"role":"system"'),
    "off_schema": DoubtCase(_chat(HI, tools=[{"name": "f", "parameters": SCHEMA}]), r'"tools":\[\{"name"'),
    "strict_tools": DoubtCase(
        _chat(HI, tools=[{"type": "function", "function": {**TOOL["function"], "strict": True}}]), r'"strict":'
    ),
    "thinking": DoubtCase(_chat(HI, think=True), r'"think":true'),
    "media.audio.inline": DoubtCase(_chat({**HI, "images": [SOUND]}), r'"images":'),
    "media.image.result": DoubtCase(_chat(HI, _OLLAMA_CALL, _SEEN, tools=[TOOL]), r'"role":"tool"[^}]*"images":'),
}

_THOUGHT: Wire = {"type": "thinking", "thinking": "Hm."}
_AS_IN_CHAT = (
    *("system_only", "thought_in_id", "duplicate_ids", "empty_required", "undeclared_tools", "empty_tools"),
    "vendor_header",
)

COHERE: dict[str, DoubtCase] = {
    "mistyped_media": _MISTYPED,
    **{name: CHAT[name] for name in _AS_IN_CHAT},
    "blank_text": DoubtCase(_chat(OK, {"role": "user", "content": " "}, OK, HI), r'"content":" "'),
    "null_settings": DoubtCase(_chat(HI, seed=None), r'"seed":null'),
    "choice_without_tools": DoubtCase(_chat(HI, tool_choice="NONE"), r'"tool_choice":'),
    "above_output_limit": DoubtCase(_chat(HI, max_tokens=100_000_000), r'"max_tokens":100000000'),
    "media.image.inline": DoubtCase(_chat(_parts(_IMAGE)), r'"image_url":'),
    "media.image.url": DoubtCase(_chat(_parts(_LINKED)), r'"url":"https:'),
}


def _converse(*messages: Wire, **more: Any) -> Wire:
    return {"messages": list(messages), **more}


def _turn(role: str, *blocks: Any) -> Wire:
    return {"role": role, "content": [{"text": block} if isinstance(block, str) else block for block in blocks]}


def _used(identity: str = "call_1") -> Wire:
    return {"toolUse": {"toolUseId": identity, "name": "f", "input": {"city": "Paris"}}}


def _answered(identity: str = "call_1") -> Wire:
    return {"toolResult": {"toolUseId": identity, "content": [{"text": "12 degrees"}]}}


def _spec(**more: Any) -> Wire:
    return {"tools": [{"toolSpec": {"name": "f", "description": "It.", "inputSchema": {"json": SCHEMA}, **more}}]}


_HEY = _turn("user", "Hi")
_ON = _turn("user", "Go on")
_SPECIFIED: Wire = {"toolConfig": _spec()}
_S3: Wire = {"s3Location": {"uri": "s3://bucket/a"}}
_UNSIGNED: Wire = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}

BEDROCK: dict[str, DoubtCase] = {
    "mistyped_media": DoubtCase(
        _converse(_turn("user", "Look", {"image": {"format": "jpeg", "source": {"bytes": PIXEL}}})), '"format":"jpeg"'
    ),
    "odd_call_id": DoubtCase(
        _converse(_HEY, _turn("assistant", _used()), _turn("user", _answered()), **_SPECIFIED), r'"toolUseId":"call_1"'
    ),
    "user_after_tool": DoubtCase(
        _converse(_HEY, _turn("assistant", _used()), _turn("user", _answered(), "Go on"), **_SPECIFIED),
        r'"toolResult".*\},\{"text":"Go on"',
    ),
    "empty_assistant": DoubtCase(_converse(_HEY, _turn("assistant", ""), _ON), r'\{"text":""\}'),
    "blank_text": DoubtCase(_converse(_HEY, _turn("assistant", "OK"), _turn("user", " ")), r'\{"text":" "\}'),
    "no_parts": DoubtCase(_converse(_HEY, {"role": "assistant", "content": []}, _ON), r'"content":\[\]'),
    "no_user_parts": DoubtCase(_converse(_HEY, {"role": "user", "content": []}), r'"content":\[\]'),
    "trailing_space": DoubtCase(_converse(_HEY, _turn("assistant", "OK ")), r'"OK "'),
    "unknown_settings": DoubtCase(_converse(_HEY, newer={"a": 1}), r'"newer"'),
    "null_settings": DoubtCase(_converse(_HEY, performanceConfig=None), r'"performanceConfig":null'),
    "thought_in_id": DoubtCase(
        _converse(
            _HEY, _turn("assistant", _used("a__thought__b")), _turn("user", _answered("a__thought__b")), **_SPECIFIED
        ),
        r"__thought__",
    ),
    "result_error": DoubtCase(
        _converse(
            *(_HEY, _turn("assistant", _used())),
            _turn("user", {"toolResult": {**_answered()["toolResult"], "status": "error"}}),
            **_SPECIFIED,
        ),
        r'"status":"error"',
    ),
    "duplicate_ids": DoubtCase(
        _converse(
            *(_HEY, _turn("assistant", _used()), _turn("user", _answered())),
            *(_turn("assistant", _used()), _turn("user", _answered())),
            **_SPECIFIED,
        ),
        r'"toolUseId":"call_1".*"toolUseId":"call_1".*"toolUseId":"call_1".*"toolUseId":"call_1"',
    ),
    "empty_required": DoubtCase(
        _converse(_HEY, toolConfig=_spec(inputSchema={"json": {**SCHEMA, "required": []}})), r'"required":\[\]'
    ),
    "thinking": DoubtCase(
        _converse(_HEY, additionalModelRequestFields={"reasoning_effort": "low"}), r'"reasoning_effort"'
    ),
    "thinking_visible": DoubtCase(
        _converse(_HEY, additionalModelRequestFields={"thinking": {"type": "adaptive", "display": "summarized"}}),
        r'"display"',
    ),
    "media.image.stored": DoubtCase(
        _converse(_turn("user", "Look", {"image": {"format": "png", "source": _S3}})), r'"s3Location"'
    ),
    "media.document.stored": DoubtCase(
        _converse(_turn("user", "Look", {"document": {"format": "pdf", "name": "a", "source": _S3}})), r'"s3Location"'
    ),
    "media.video.stored": DoubtCase(
        _converse(_turn("user", "Look", {"video": {"format": "mp4", "source": _S3}})), r'"s3Location"'
    ),
    "media.video.inline": DoubtCase(
        _converse(_turn("user", "Look", {"video": {"format": "mp4", "source": {"bytes": PIXEL}}})), r'"video"'
    ),
    "media.audio.inline": DoubtCase(
        _converse(_turn("user", "Hear", {"audio": {"format": "wav", "source": {"bytes": SOUND}}})), r'"audio"'
    ),
    "above_output_limit": DoubtCase(_converse(_HEY, inferenceConfig={"maxTokens": 10**9}), r'"maxTokens":10{9}'),
    "settings.top_k.support": DoubtCase(_converse(_HEY, additionalModelRequestFields={"top_k": 20}), r'"top_k"'),
}

CASES: dict[str, dict[str, DoubtCase]] = ByDialect(
    "CASES of tests/shapes/doubts.py",
    {
        "bedrock": BEDROCK,
        "openai-chat": CHAT,
        "anthropic": ANTHROPIC,
        "gemini": GEMINI,
        "openai-responses": RESPONSES,
        "ollama": OLLAMA,
        "cohere": COHERE,
    },
)
