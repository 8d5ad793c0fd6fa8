"""xAI's Responses API: OpenAI's paths and items, with xAI's own refusals, ids, usage and search results.

An item that fits none of its types is a 422. What is not known to be refused is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.emulators.chat.caching import policy_of
from dragoman.emulators.openai_responses import answer, events
from dragoman.emulators.openai_responses.emulator import Responses
from dragoman.emulators.openai_responses.hosted_items import run_item
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.provider import (
    CachePolicy,
    ErrorResponse,
    FaultKind,
    Hosted,
    HostedRun,
    ModelTurn,
    ReceivedRequest,
)
from dragoman.emulators.rate_limits import CHAT_FORMS
from dragoman.emulators.signatures import check_signature, is_masked, mint
from dragoman.emulators.usage import answer_seed
from dragoman.emulators.wire import make_id

ISSUER = "xai"
Item = dict[str, Any]
_ROLES = ("system", "developer", "user", "assistant")
_NOT_READ = "Failed to deserialize the JSON body into the target type"
_UNDECRYPTED = (
    "Could not decrypt the provided encrypted_content. "
    "Ensure the value is the unmodified encrypted_content from a previous response."
)
_NO_VARIANT = f"{_NOT_READ}: data did not match any variant of untagged enum ModelInput"
_TOGETHER = "Argument not supported: instructions and previous_response_id together"
_WITHOUT_EFFORT = re.compile(r"grok-build|grok-4(?:-0709)?$")
_SENTENCES = {
    FaultKind.AUTH: (400, "Incorrect API key provided. You can obtain an API key from https://console.x.ai."),
    FaultKind.MODEL: (400, "Model not found: {model}"),
    FaultKind.RATE: (429, "Rate limit reached for {model}."),
    FaultKind.CONTEXT: (
        400,
        "This model's maximum prompt length is {window} but the request contains {tokens} tokens",
    ),
}
_HAS_NO_TOOLS = "Invalid request content: A tool_choice was set on the request but no tools were specified."
_TOOLS = (
    *("function", "web_search", "x_search", "image_generation", "collections_search", "file_search", "code_execution"),
    *("code_interpreter", "mcp", "shell", "tool_search"),
)
_REFUSED_FIELDS = {
    "web_search": ("external_web_access", "search_context_size", "user_location"),
    "file_search": ("filters", "ranking_options"),
    "code_interpreter": ("container",),
}
"""Members of tools that are there for OpenAI's clients alone: "request will be rejected if this field is set"."""
_STRANGE_ITEMS = frozenset(
    {
        *("local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output"),
        *("computer_call", "computer_call_output", "additional_tools", "item_reference", "agent_message"),
        *("custom_tool_call_output", "compaction_trigger", "configuration_update", "program", "program_output"),
    }
)
"""Items of OpenAI's that are in no variant."""
_HEX = "0123456789abcdef"
_KINDS = ("web_search", "x_search", "code_interpreter", "file_search", "mcp", "document_search", "image_generation")
_COUNTED = {
    Hosted.SEARCH: "web_search",
    Hosted.FETCH: "web_search",
    Hosted.CODE: "code_interpreter",
    Hosted.FILES: "file_search",
    Hosted.MCP: "mcp",
    Hosted.IMAGE: "image_generation",
}
_TICKS_PER_RUN, _TICKS_PER_TOKEN = 50_000_000, 12_500


class XaiResponses(Responses):
    """Grok by Responses."""

    name = "xai-responses"
    known_models = ("grok-4.5", "grok-4.3", "grok-4-0709", "grok-3-mini")
    limit_form = CHAT_FORMS["xai"]
    example: tuple[str, Any] = ("/v1/responses", {"model": "grok-4.3", "input": "Hello"})

    def check(self, request: ReceivedRequest) -> None:
        body: dict[str, Any] = request.body
        for name in ("model", "input"):
            if name not in body and not (name == "input" and body.get("previous_response_id")):
                raise ResponsesRefusal(f"{_NOT_READ}: missing field `{name}`", status=422)
        if not self.options.knows(request.model):
            raise ResponsesRefusal(f"Model not found: {request.model}")
        _check_input(body.get("input"), self.options.strict_signatures)
        if body.get("previous_response_id") and (sentence := self.check_continued(body)):
            raise ResponsesRefusal(sentence)
        for index, tool in enumerate(body.get("tools") or ()):
            _check_tool(tool, index)
        if body.get("tool_choice") is not None and not body.get("tools"):
            raise ResponsesRefusal(_HAS_NO_TOOLS)
        if (body.get("reasoning") or {}).get("effort") and _WITHOUT_EFFORT.match(request.model):
            raise ResponsesRefusal(f"Model {request.model} does not support parameter reasoningEffort.")
        self._kept.check(request)

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        if request.path.endswith("/compact"):
            return _render_compacted(request)
        made = _render_answer(request, turn)
        self._kept.keep(request, made)
        return made

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        finished = self.render_answer(request, turn)
        return events.render_events(_render_frame(request), finished, turn.interleave)

    def cache_policy(self, model: str) -> CachePolicy:
        return policy_of("xai", model) or super().cache_policy(model)

    def has_lanes(self, path: str) -> bool:
        """Nothing is known of several conversations on a socket, or of steering."""
        return False

    def check_continued(self, body: dict[str, Any]) -> str:
        return _TOGETHER if body.get("instructions") else ""

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        if kind not in _SENTENCES:
            return super().render_fault(kind, request)
        status, sentence = _SENTENCES[kind]
        model, tokens = (request.model, self.count_prompt(request)) if request is not None else ("unknown", 0)
        window = self.options.window or 131_072
        return self.render_refusal(
            ResponsesRefusal(sentence.format(model=model, tokens=tokens, window=window), status=status), request
        )

    def stream_fault(self, kind: FaultKind, request: ReceivedRequest) -> dict[str, Any]:
        body = self.render_fault(kind, request).body
        return {"code": body["code"], "message": body["error"]}

    def render_refusal(self, refusal: ResponsesRefusal, request: ReceivedRequest | None = None) -> ErrorResponse:
        code = {401: "unauthenticated", 429: "resource-exhausted"}.get(refusal.status, "invalid-argument")
        if refusal.status >= 500:
            code = "internal"
        return ErrorResponse(refusal.status, {"code": code, "error": refusal.message}, {})

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        return {"x-request-id": _uuid(answer_seed(request))}


def _check_input(given: Any, strict: bool) -> None:
    items = given if isinstance(given, list) else []
    if not isinstance(given, str | list | None) or not all(map(_fits, items)):
        raise ResponsesRefusal(_NO_VARIANT, status=422)
    for item in items:
        blob = item.get("encrypted_content")
        if blob is None or is_masked(blob):
            continue
        found = check_signature(ISSUER, blob, strict)
        if found == "foreign" or (strict and found != "ok"):
            raise ResponsesRefusal(_UNDECRYPTED)


def _fits(item: Any) -> bool:
    """Whether an item is one of the types of the input."""
    if not isinstance(item, dict):
        return False
    match item.get("type", "message"):
        case "message":
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            right = isinstance(content, str | list) and all(isinstance(part, dict) for part in parts)
            return right and item.get("role") in _ROLES
        case "function_call":
            return all(isinstance(item.get(name), str) for name in ("call_id", "name", "arguments"))
        case "function_call_output":
            return isinstance(item.get("call_id"), str) and isinstance(item.get("output"), str | list)
        case "reasoning":
            return isinstance(item.get("summary"), list) and isinstance(item.get("content", []), list)
        case "shell_call":
            return isinstance(item.get("call_id"), str) and isinstance(item.get("action"), dict)
        case "shell_call_output":
            return isinstance(item.get("call_id"), str) and isinstance(item.get("output"), list)
        case "custom_tool_call":
            return all(isinstance(item.get(name), str) for name in ("call_id", "name"))
        case kind:
            return isinstance(kind, str) and kind not in _STRANGE_ITEMS


def _check_tool(tool: Any, index: int) -> None:
    """A function whose parameters are no object is refused by its name. The sentences but for that of an unknown type
    are ours."""
    if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
        raise ResponsesRefusal(f"{_NOT_READ}: tools", status=422)
    if tool["type"] not in _TOOLS:
        known = ", ".join(f"`{kind}`" for kind in _TOOLS)
        sentence = f"tools[{index}].type: unknown variant `{tool['type']}`, expected one of {known}"
        raise ResponsesRefusal(f"{_NOT_READ}: {sentence}", status=422)
    for name in _REFUSED_FIELDS.get(tool["type"], ()):
        if tool.get(name) is not None:
            raise ResponsesRefusal(f"Argument not supported: {name} of {tool['type']}")
    if tool["type"] == "function" and (tool.get("parameters") or {"type": "object"}).get("type") != "object":
        raise ResponsesRefusal(f"Invalid tool {tool.get('name')}: the root of parameters must be an object.")


def _uuid(*seed: object) -> str:
    digits = make_id("", 32, *seed, alphabet=_HEX)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _call_name(request: ReceivedRequest, index: int) -> str:
    return f"call-{_uuid('call', answer_seed(request))}-{index}"


def _render_frame(request: ReceivedRequest, status: str = "in_progress") -> Item:
    frame = answer.render_frame(request, status)
    given = request.body.get("text") or {}
    own = {
        "id": _uuid(answer_seed(request)),
        "metadata": {"system_fingerprint": "fp_emulated_xai"},
        "reasoning": {"effort": "low", "summary": "detailed", **(request.body.get("reasoning") or {})},
        "temperature": 0.7 if request.body.get("temperature") is None else request.body["temperature"],
        "text": {"format": given.get("format") or {"type": "text"}},
        "tools": list(map(_echo_tool, request.body.get("tools") or ())),
        "top_p": 0.95 if request.body.get("top_p") is None else request.body["top_p"],
    }
    return {**frame, **own}


def _echo_tool(tool: Item) -> Item:
    if tool["type"] == "function":
        return {**tool, "strict": bool(tool.get("strict"))}
    return {"search_context_size": "medium", **tool} if tool["type"] == "web_search" else tool


def _render_answer(request: ReceivedRequest, turn: ModelTurn) -> Item:
    plain = answer.render_answer(request, turn)
    settled = {name: plain[name] for name in ("completed_at", "incomplete_details")}
    return {
        **_render_frame(request, plain["status"]),
        **settled,
        "output": list(_items(request, turn, plain["output"])),
        "usage": _render_usage(plain["usage"], turn),
    }


def _items(request: ReceivedRequest, turn: ModelTurn, plain: list[Item]) -> Iterable[Item]:
    """Reasoning, what xAI ran, its results as further items of reasoning, the message, the calls."""
    name, thinks = _uuid(answer_seed(request)), turn.reasoning is not None
    if turn.reasoning is not None:
        yield _reasoning(request, f"rs_{name}", turn.reasoning)
    for index, run in enumerate(turn.runs):
        yield from _run_items(request, run, index)
    if answer.ENCRYPTED in (request.body.get("include") or ()):
        for index, run in enumerate(turn.runs):
            yield _reasoning(request, f"tco_{name}_{_call_name(request, index)}", "", run.output or str(run.pages))
        if turn.runs and thinks:
            yield _reasoning(request, f"rs_{name}", "", "after the search")  # the id of the first one, once more
    count = 0
    for item in plain:
        if item["type"] == "message":
            yield {**item, "id": f"msg_{name}", "content": [_link_citations(part) for part in item["content"]]}
        elif item["type"] == "function_call":
            call = item["call_id"] if turn.calls[count].id else _call_name(request, count)
            yield {**item, "id": f"fc_{name}_{count}", "call_id": call}
            count += 1


def _reasoning(request: ReceivedRequest, name: str, thought: str, sealed: str = "") -> Item:
    """Its summary comes unasked, its encrypted content only when it is asked for."""
    summary = [{"type": "summary_text", "text": thought}] if thought else []
    item: Item = {"type": "reasoning", "id": name, "summary": summary, "status": "completed"}
    if answer.ENCRYPTED in (request.body.get("include") or ()):
        item["encrypted_content"] = mint(ISSUER, sealed or thought)
    return item


def _run_items(request: ReceivedRequest, run: HostedRun, index: int) -> Iterable[Item]:
    name = f"{_uuid(answer_seed(request))}_{_call_name(request, index)}"
    for item in run_item(request, run, index):
        prefix = item["id"].partition("_")[0]
        item = {**item, "id": f"{prefix}_{name}"}
        if item["type"] == "web_search_call" and item["action"]["type"] == "search":
            sources = [{"type": "url", "url": page.url} for page in run.pages]
            item["action"] = {"type": "search", "query": run.arguments["query"], "sources": sources}
        elif item["type"] == "image_generation_call":
            item = {key: item[key] for key in ("id", "type", "status", "result")} | {"prompt": item["revised_prompt"]}
        yield item


def _link_citations(part: Item) -> Item:
    """A text with a link after each place that rests on a page. A citation has the span of its link, and a number for a
    title."""
    notes = [note for note in part.get("annotations") or () if note["type"] == "url_citation"]
    if not notes:
        return part
    text, shift, cited = part["text"], 0, []
    for number, note in enumerate(notes, 1):
        link, at = f"[[{number}]]({note['url']})", note["end_index"] + shift
        text, shift = text[:at] + link + text[at:], shift + len(link)
        cited.append({**note, "start_index": at, "end_index": at + len(link), "title": str(number)})
    return {**part, "text": text, "annotations": cited}


def _render_usage(plain: Item, turn: ModelTurn) -> Item:
    runs = [_COUNTED[run.tool] for run in turn.runs if run.tool in _COUNTED]
    counts = {f"{kind}_calls": runs.count(kind) for kind in _KINDS}
    return {
        "input_tokens": plain["input_tokens"],
        "input_tokens_details": {"cached_tokens": plain["input_tokens_details"]["cached_tokens"]},
        "output_tokens": plain["output_tokens"],
        "output_tokens_details": plain["output_tokens_details"],
        "total_tokens": plain["total_tokens"],
        "num_sources_used": 0,
        "num_server_side_tools_used": len(runs),
        "cost_in_usd_ticks": plain["total_tokens"] * _TICKS_PER_TOKEN + len(runs) * _TICKS_PER_RUN,
        **({"server_side_tool_usage_details": counts} if runs else {}),
        "context_details": {"input_tokens": plain["input_tokens"], "output_tokens": plain["output_tokens"]},
    }


def _render_compacted(request: ReceivedRequest) -> Item:
    """One item for the whole conversation, system prompt included."""
    plain = answer.render_compacted(request)
    item = {"type": "compaction", "id": f"cmp_{_uuid(answer_seed(request))}"}
    item["encrypted_content"] = mint(ISSUER, answer_seed(request))
    return {**plain, "id": _uuid(answer_seed(request)), "output": [item]}
