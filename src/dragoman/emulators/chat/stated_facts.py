"""A Chat server that does exactly what a list of facts says: the judge of a profile that nobody has an emulator for.

It takes the facts as plain JSON, under the names that profiles use, and knows nothing else about profiles. What the
facts do not speak of, and what they call unknown, is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import orjson

from dragoman.emulators.chat.answers import AnswerStyle
from dragoman.emulators.chat.pairs import after_opening, call_ids, role
from dragoman.emulators.chat.service import ChatRefusal, ChatService, check_minimal
from dragoman.emulators.provider import EmulatorOptions, ReceivedRequest

_SYSTEMS = ("system", "developer")
_ROLES = frozenset({"user", "assistant", "tool"})
_MESSAGE_KEYS = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "function_call", "audio"}
)
_OWN_KEYS = {"cache_control": "cache_hints", "annotations": "citation_part"}
_THOUGHTS = ("reasoning_content", "reasoning")
_PART_KEYS = frozenset({"type", "text", "image_url", "input_audio", "file", "refusal", "document_url", "video_url"})
_MEDIA = {"image_url": "image", "input_audio": "audio", "file": "document", "document_url": "document"}
_TOP_KEYS = frozenset(
    {"model", "messages", "tools", "tool_choice", "functions", "function_call", "response_format", "stream"}
    | {"stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort", "stop", "random_seed"}
)
_SETTINGS = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "logprobs", "top_logprobs", "frequency_penalty"}
    | {"presence_penalty", "parallel_tool_calls", "verbosity", "user", "metadata", "service_tier", "store"}
    | {"prompt_cache_key", "prediction", "modalities", "audio", "logit_bias", "web_search_options"}
)
_CHOICES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class StatedFacts:
    """The facts, by name."""

    table: Mapping[str, Any]

    def refuses(self, name: str) -> bool:
        return bool(self.table.get(name) == "refuses")

    def get(self, name: str, otherwise: Any = None) -> Any:
        return self.table.get(name, otherwise)

    def thinks(self, body: Mapping[str, Any]) -> bool:
        """Whether the model thinks while it answers this request."""
        off = body.get("reasoning_effort") == "none" or body.get("thinking") == {"type": "disabled"}
        return bool(self.get("reasoning_default")) and not off

    def entry(self, table: str, name: str) -> Any:
        """An entry of a fact that is a table; an empty table if there is none."""
        return self.table.get(table, {}).get(name, {})


FactCheck = Callable[[StatedFacts, ReceivedRequest], Iterator[str]]
"""The words of its refusals."""


def _messages(request: ReceivedRequest) -> list[dict[str, Any]]:
    return [message for message in request.body["messages"] if isinstance(message, dict)]


def check_roles(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    for at, message in enumerate(_messages(request)):
        if _is_refused_role(facts, role(message)):
            yield f"messages[{at}].role: unexpected role '{role(message)}'"


def _is_refused_role(facts: StatedFacts, name: str) -> bool:
    if name == "system":
        return bool(facts.get("system_count") == "none")
    if name == "developer":
        return facts.refuses("developer_role") or facts.get("system_count") == "none"
    if name == "function":
        return facts.refuses("legacy_calls")
    return name not in _ROLES and facts.refuses("unknown_role")


def check_systems(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    messages = _messages(request)
    opening = len(messages) - len(after_opening(messages))
    if opening > 1 and facts.get("system_count") == "one":
        yield "only one system message is supported"
    for at in range(opening, len(messages)):
        if role(messages[at]) in _SYSTEMS and not _may_stand(facts, messages, at):
            yield "System message must be at the beginning."
    if facts.refuses("system_only") and opening == len(messages):
        yield "there is no user message"


def _may_stand(facts: StatedFacts, messages: list[dict[str, Any]], at: int) -> bool:
    place = facts.get("system_place", "anywhere")
    if facts.refuses("late_system") or place in ("opening", "top-level"):
        return False
    before = next((role(one) for one in reversed(messages[:at]) if role(one) not in _SYSTEMS), "")
    if place == "after-user":
        return before == "user"
    after = next((role(one) for one in messages[at:] if role(one) not in _SYSTEMS), "assistant")
    return place == "anywhere" or (before in ("user", "tool") and after == "assistant")


def check_order(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    messages = _messages(request)
    turns = [role(one) for one in messages if role(one) not in _SYSTEMS]
    if turns and facts.get("first_turn") == "user" and turns[0] != "user":
        yield "the first message must use the 'user' role"
    if turns and facts.get("last_turn") == "user" and turns[-1] == "assistant":
        yield "expected last role user or tool"
    if turns and facts.refuses("no_user") and "user" not in turns:
        yield "no user query found in messages"
    if facts.refuses("repeated_last") and turns[-2:] == ["assistant", "assistant"]:
        yield "two assistant messages at the end"
    for before, after in pairwise(turns):
        if before == after and before in ("user", "assistant") and facts.refuses("repeated_roles"):
            yield "conversation roles must alternate"
        if (before, after) == ("tool", "user") and facts.refuses("user_after_tool"):
            yield "unexpected role 'user' after role 'tool'"


def check_contents(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    for at, message in enumerate(_messages(request)):
        yield from (f"messages[{at}]: {fault}" for fault in _content_faults(facts, message))


def _content_faults(facts: StatedFacts, message: dict[str, Any]) -> Iterator[str]:
    content, name = message.get("content"), role(message)
    calling = bool(message.get("tool_calls") or message.get("function_call"))
    needed = facts.refuses("no_parts") or (name != "assistant" and facts.refuses("no_user_parts"))
    if needed and content in (None, []) and not calling and name in ("assistant", "user", *_SYSTEMS):
        yield "content is required"
    if isinstance(content, str):
        yield from _text_faults(facts, content, name, calling)
    elif isinstance(content, list):
        yield from _list_faults(facts, content, name)


def _text_faults(facts: StatedFacts, content: str, name: str, calling: bool) -> Iterator[str]:
    fact = f"empty_{'system' if name in _SYSTEMS else name}"
    if not content and not calling and facts.refuses(fact):
        yield "content must not be empty"
    is_blank = bool(content) and not content.strip()
    if is_blank and not calling and (facts.refuses("blank_text") or facts.refuses(fact)):
        yield "content must not be blank"


def _list_faults(facts: StatedFacts, content: list[Any], name: str) -> Iterator[str]:
    parts = [part for part in content if isinstance(part, dict)]
    texts = [part for part in parts if part.get("type") == "text"]
    if facts.refuses("list_content") and parts and len(texts) == len(parts):
        yield "content must be a string"
    if name in _SYSTEMS and len(parts) > 1 and facts.refuses("system_parts"):
        yield "a system message has one part"
    if len(texts) > 1 and len(texts) == len(parts) and name not in _SYSTEMS and facts.refuses("several_texts"):
        yield "one text only"
    if len(parts) > 1 and any(not part.get("text") for part in texts) and facts.refuses("empty_beside"):
        yield "an empty text beside other parts"
    for part in parts:
        yield from _part_faults(facts, part)


def _part_faults(facts: StatedFacts, part: dict[str, Any]) -> Iterator[str]:
    kind = str(part.get("type"))
    if kind == "refusal" and facts.refuses("refusal_part"):
        yield "unsupported part 'refusal'"
    medium = _MEDIA.get(kind)
    if medium is not None and not _takes_medium(facts, medium, kind):
        yield f"unsupported part '{kind}'"
    known = _PART_KEYS | {facts.entry("title_fields", str(medium)) or "type"}
    for key in part:
        wanted = (_OWN_KEYS[key],) if key in _OWN_KEYS else ("part_fields", "unknown_fields")
        if key not in known and any(map(facts.refuses, wanted)):
            yield f"unknown field '{key}'"


def _takes_medium(facts: StatedFacts, medium: str, kind: str) -> bool:
    if facts.entry("media", medium).get("inline") == "refuses":
        return False
    form, forms = facts.entry("vendor_forms", "document"), facts.get("media_forms", ("*",))
    if kind == "document_url" and form != kind and not {"*", kind} & {*forms}:
        return False
    return medium != "document" or not form or kind == form


def check_fields(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    for at, message in enumerate(_messages(request)):
        for key in message:
            if _is_refused_field(facts, key, message):
                yield f"messages[{at}]: unknown field '{key}'"
        if message.get("tool_calls") == [] and _refuses_no_calls(facts):
            yield f"messages[{at}].tool_calls: must not be empty"


def _refuses_no_calls(facts: StatedFacts) -> bool:
    """A list of nothing says nothing: who refuses unknown fields is not sent one, unless it is known to take it."""
    unknown = facts.refuses("unknown_fields") and "tool_calls" not in facts.entry("message_fields", "assistant")
    return unknown or facts.refuses("empty_calls")


def _is_refused_field(facts: StatedFacts, key: str, message: dict[str, Any]) -> bool:
    if key == "name" and role(message) != "function":
        return facts.refuses("result_name" if role(message) == "tool" else "message_name")
    if key in _THOUGHTS:
        if facts.get("reasoning_required") in _TOOL_NEEDS and message.get("tool_calls"):
            return False
        own = facts.get("reasoning_field") or key
        odd = facts.refuses("unknown_fields") or facts.refuses("odd_reasoning_field")
        return facts.refuses("reasoning_text") or (own != key and odd)
    if key == "function_call":
        return facts.refuses("legacy_calls")
    return key not in _MESSAGE_KEYS and facts.refuses(_OWN_KEYS.get(key, "unknown_fields"))


_TOOL_NEEDS = ("tool-turns", "tool-exchanges")


def check_calls(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    seen: set[str] = set()
    for at, message in enumerate(_messages(request)):
        ids = call_ids(message)
        yield from (f"messages[{at}].{fault}" for fault in _call_faults(facts, message))
        if len({*ids}) < len(ids) and facts.refuses("duplicate_ids_in_turn"):
            yield f"messages[{at}].tool_calls: an id is there twice"
        if seen & {*ids} and facts.refuses("duplicate_ids"):
            yield f"messages[{at}].tool_calls: an id was used before"
        seen |= {*ids}


def _call_faults(facts: StatedFacts, message: dict[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return
    if facts.refuses("parallel_calls") and len(calls) > 1:
        yield "tool_calls: only one call at once"
    if facts.get("call_content") == "empty" and message.get("content") is None:
        yield "content: must be a string"
    if facts.refuses("text_beside_calls") and message.get("content"):
        yield "content: no text beside calls"
    if facts.get("reasoning_required") in _TOOL_NEEDS and not message.get("reasoning_content"):
        yield "reasoning_content is missing in assistant tool call message"
    pattern = facts.get("call_id_pattern") if facts.get("odd_call_id", "refuses") == "refuses" else ""
    for made in calls:
        called = made.get("function") if isinstance(made, dict) else None
        if pattern and not re.fullmatch(pattern, str(made.get("id"))):
            yield "tool_calls: an id of another form"
        if isinstance(called, dict) and facts.refuses("bad_arguments") and not _is_object(called.get("arguments")):
            yield "tool_calls: the arguments are no JSON object"


def _is_object(text: Any) -> bool:
    try:
        return isinstance(orjson.loads(text or "{}"), dict) if isinstance(text, str) else False
    except orjson.JSONDecodeError:
        return False


def check_pairs(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    """Each call has one result, right behind it and in order, as far as the facts want that."""
    messages = _messages(request)
    for at, message in enumerate(messages):
        if role(message) == "tool" and facts.refuses("orphan_result") and not _is_answer(messages, at):
            yield f"messages[{at}]: a result without its call"
        ids = call_ids(message)
        if ids:
            yield from _answer_faults(facts, messages, at, ids)


def _is_answer(messages: list[dict[str, Any]], at: int) -> bool:
    return any(str(messages[at].get("tool_call_id")) in call_ids(one) for one in messages[:at])


def _answer_faults(facts: StatedFacts, messages: list[dict[str, Any]], at: int, ids: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the results of the calls of one message, up to where their ids are used anew."""
    until = next((n for n in range(at + 1, len(messages)) if {*ids} & {*call_ids(messages[n])}), len(messages))
    found = [n for n in range(at + 1, until) if str(messages[n].get("tool_call_id")) in ids]
    answers = [str(messages[n].get("tool_call_id")) for n in found]
    if facts.refuses("missing_result") and {*ids} - {*answers}:
        yield f"messages[{at}]: a call without its result"
    if facts.refuses("repeated_result") and len({*answers}) < len(answers) and len({*ids}) == len(ids):
        yield f"messages[{at}]: two results of one call"
    between = [role(messages[n]) for n in range(at + 1, found[-1])] if found else []
    if "user" in between and facts.refuses("late_result"):
        yield f"messages[{at}]: something between a call and its result"
    if "assistant" in between and facts.refuses("calls_apart") and facts.refuses("late_result"):
        yield f"messages[{at}]: calls of several messages are answered together"
    order = [ids.index(one) for one in dict.fromkeys(answers)]
    if facts.refuses("result_order") and order != sorted(order):
        yield f"messages[{at}]: results in another order than their calls"


def check_tools(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    tools, messages = request.body.get("tools"), _messages(request)
    if "functions" in request.body and facts.refuses("legacy_calls"):
        yield "unknown field 'functions'"
    if tools == [] and facts.refuses("empty_tools"):
        yield "tools must not be empty"
    if tools and facts.refuses("tools"):
        yield "the model does not support tools"
    called = any(call_ids(message) or role(message) == "tool" for message in messages)
    if called and not tools and facts.refuses("undeclared_tools"):
        yield "there are calls and no tools"
    entries = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    for at, tool in enumerate(entries):
        yield from (f"tools[{at}]: {fault}" for fault in _tool_faults(facts, tool))
    names = [str(_function(tool).get("name")) for tool in entries]
    if len({*names}) < len(names) and facts.refuses("duplicate_tools"):
        yield "two tools have one name"


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    found = tool.get("function") or tool.get("custom")
    return found if isinstance(found, dict) else {}


def _tool_faults(facts: StatedFacts, tool: dict[str, Any]) -> Iterator[str]:
    if tool.get("type") == "custom":
        if facts.refuses("custom_tools"):
            yield "unsupported type 'custom'"
        return
    function = _function(tool)
    name, pattern = str(function.get("name")), facts.get("tool_name_pattern")
    if pattern and not re.fullmatch(pattern, name):
        yield "a name of another form"
    if pattern and len(name) > facts.get("tool_name_length", 10**6):
        yield "the name is too long"
    if "strict" in function and facts.refuses("strict_tools"):
        yield "unknown field 'strict'"
    if function.get("description") == "" and facts.refuses("empty_description"):
        yield "the description is empty"
    if function.get("parameters") is None and facts.refuses("tools_without_schema"):
        yield "parameters are required"


def check_choice(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    choice = request.body.get("tool_choice")
    if choice is None:
        return
    if not request.body.get("tools") and facts.refuses("choice_without_tools"):
        yield "When using `tool_choice`, `tools` must be set."
    kind = _choice_kind(choice)
    if kind == "odd":
        if choice not in facts.get("odd_choices", ()) and facts.refuses("odd_choice"):
            yield f"invalid tool_choice: {choice}"
        return
    if kind in ("required", "named") and facts.refuses("forced_choice_thinking") and facts.thinks(request.body):
        yield "Thinking mode does not support this tool_choice"
    known = facts.get("tool_choices")
    if known is not None and kind not in known:
        yield f"invalid tool_choice: {kind}"


def _choice_kind(choice: Any) -> str:
    if isinstance(choice, str):
        return choice if choice in _CHOICES else "odd"
    return "allowed" if isinstance(choice, dict) and choice.get("type") == "allowed_tools" else "named"


def check_format(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    wanted = request.body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    known = facts.get("response_formats")
    if kind not in ("json_object", "json_schema"):
        return
    name = "json" if kind == "json_object" else "schema"
    if known is not None and name not in known:
        yield f"response_format: {kind} is not supported"
    if request.body.get("tools") and facts.refuses("format_with_tools"):
        yield "response_format beside tools is not supported"
    if (
        kind == "json_object"
        and facts.refuses("json_word")
        and b"json" not in orjson.dumps(request.body["messages"]).lower()
    ):
        yield "'messages' must contain the word 'json'"
    if kind == "json_schema" and facts.refuses("format_without_schema") and not _has_schema(wanted):
        yield "json_schema.schema is required"


def _has_schema(wanted: Mapping[str, Any]) -> bool:
    given = wanted.get("json_schema")
    return isinstance(given, dict) and "schema" in given


def check_settings(facts: StatedFacts, request: ReceivedRequest) -> Iterator[str]:
    body = request.body
    for key, value in body.items():
        if value is None:
            if facts.refuses("null_settings"):
                yield f"{key}: null is not allowed"
            continue
        while_thinking = facts.entry("settings", key).get("thinking") == "refuses" and facts.thinks(body)
        if while_thinking or _is_refused_setting(facts, key):
            yield f"Unknown parameter: '{key}'."
        most = facts.entry("settings", key).get("max")
        if most is not None and isinstance(value, int | float) and value > most:
            yield f"{key}: must be at most {most}"
    limits = {"max_tokens", "max_completion_tokens"} & body.keys()
    if len(limits) == 2 and facts.refuses("two_limits"):
        yield "max_tokens and max_completion_tokens cannot both be set"
    own = facts.get("limit_name")
    if own and limits - {own}:
        yield f"Unsupported parameter: use '{own}' instead."
    stop, most = body.get("stop"), facts.get("stop_max", 0)
    if isinstance(stop, list) and most and len(stop) > most:
        yield f"stop: at most {most}"
    if "stream_options" in body and facts.refuses("stream_usage"):
        yield "Unknown parameter: 'stream_options'."
    effort, efforts = body.get("reasoning_effort"), facts.get("efforts")
    if effort is not None and (facts.refuses("thinking") or (efforts and effort not in efforts)):
        yield "Unknown parameter: 'reasoning_effort'."


def _is_refused_setting(facts: StatedFacts, key: str) -> bool:
    if key in facts.get("refused_settings", ()):
        return True
    if key in ("seed", "random_seed") and facts.get("seed_name"):
        return bool(key != facts.get("seed_name"))
    if key in _SETTINGS or key in facts.get("settings", {}):
        return bool(facts.entry("settings", key).get("support") == "refuses")
    known = key in _TOP_KEYS or key in facts.get("known_settings", ())
    return not known and facts.refuses("unknown_settings")


CHECKS: tuple[FactCheck, ...] = (
    check_settings,
    check_roles,
    check_fields,
    check_contents,
    check_tools,
    check_choice,
    check_format,
    check_calls,
    check_systems,
    check_order,
    check_pairs,
)


def _refuse(facts: StatedFacts, request: ReceivedRequest) -> None:
    for check in CHECKS:
        for words in check(facts, request):
            raise ChatRefusal(400, words)


def serve_facts(facts: Mapping[str, Any], model: str = "some-model") -> ChatService:
    """The server of these facts."""
    return ChatService(
        name="stated-facts",
        options=EmulatorOptions(),
        checks=(check_minimal, partial(_refuse, StatedFacts(facts))),
        style=AnswerStyle(),
        example_model=model,
    )
