"""The strictest reader of each dialect that a client could be.

It refuses an answer in which a member is missing that the vendor's types require, keeps one current item and nothing
else, drops parts without text, takes the last block for the result, and knows the order of events by heart. It shares
no code with the renderers. `read` gives what such a client ends up with; `Unacceptable` says why it takes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from botocore.eventstream import ParserError
from msgspec import Struct
from tests import bedrock_reader
from tests import required_fields as tables
from tests.by_dialect import ByDialect

Wire = dict[str, Any]


class Unacceptable(AssertionError):
    """The strictest client would not take this answer."""


class Result(Struct, frozen=True):
    """What such a client ends up with: all text, the last text, and the calls with their arguments as JSON. `order` is
    that of the parts, if a dialect has only parts."""

    id: str
    text: str
    last: str
    calls: tuple[tuple[str, str, str], ...]
    reasoning: str = ""
    order: tuple[str, ...] = ()


def read(dialect: str, body: bytes, stream: bool, *, used: bool = True) -> Result:
    """The answer as the strictest client of a dialect reads it. `used`: it must say what it cost."""
    reader = _READERS[dialect]
    return reader.streamed(reader.cut(body), used) if stream else reader.whole(json.loads(body), used)


def _refuse(condition: object, why: str) -> None:
    if condition:
        raise Unacceptable(why)


# Required members


class _Member(Struct, frozen=True):
    name: str
    nullable: bool
    values: frozenset[str]


@cache
def _members(spelled: str) -> tuple[_Member, ...]:
    found = []
    for word in spelled.split():
        name, _, values = word.partition("=")
        allowed = frozenset(values.split("|")) if values else frozenset[str]()
        found.append(_Member(name.removesuffix("?"), name.endswith("?"), allowed))
    return tuple(found)


def _check(value: Any, table: tables.Table, kind: str, where: str = "") -> Wire:
    """The value, if it has every member that its type requires."""
    at = f"{where or kind}"
    _refuse(not isinstance(value, dict), f"{at} is no object: {value!r:.80}")
    for member in _members(table[kind]):
        _refuse(member.name not in value, f"{at} has no {member.name}")
        found = value[member.name]
        _refuse(found is None and not member.nullable, f"{at}.{member.name} is null")
        _refuse(found is not None and member.values and found not in member.values, f"{at}.{member.name} is {found!r}")
    for name in tables.NEVER_NULL.get(kind, "").split():
        _refuse(name in value and value[name] is None, f"{at}.{name} is null")
    checked: Wire = value
    return checked


def _unique(names: Sequence[str], what: str) -> None:
    _refuse(not all(names), f"an empty {what}: {names}")
    _refuse(len(set(names)) < len(names), f"the same {what} twice: {names}")


def _call(identity: str, name: str, arguments: str) -> tuple[str, str, str]:
    _refuse(not name, "a call without a name")
    return identity, name, arguments


def _frames(body: bytes) -> list[tuple[str, str]]:
    """Name and data of each event. A frame is one or two lines: no client has to put lines together."""
    frames = []
    for frame in body.decode().replace("\r\n", "\n").split("\n\n"):
        if not frame.strip():
            continue
        lines = frame.split("\n")
        _refuse(len(lines) > 2 or not lines[-1].startswith("data: "), f"no frame: {frame!r:.120}")
        name = lines[0].removeprefix("event: ") if len(lines) == 2 else ""
        frames.append((name, lines[-1].removeprefix("data: ")))
    return frames


def _lines(body: bytes) -> list[tuple[str, str]]:
    """The lines of a stream of JSON, cut wherever some reader sees the end of one."""
    text = body.decode()
    _refuse(not text.endswith("\n"), "the last line has no end")
    return [("", line) for line in text.splitlines()]


# OpenAI Chat


def _chat(body: Wire, used: bool) -> Result:
    _check(body, tables.CHAT, "completion")
    _refuse(not body["choices"], "no choices")
    _chat_usage(body.get("usage"), used)
    for number, choice in enumerate(body["choices"]):
        _refuse(_check(choice, tables.CHAT, "choice")["index"] != number, "choices out of order")
        _chat_logprobs(choice["logprobs"])
        _chat_message(_check(choice["message"], tables.CHAT, "message"))
    choice = body["choices"][0]
    message = choice["message"]
    calls = message.get("tool_calls") or []
    _refuse(calls and choice["finish_reason"] == "stop", "calls, and the reason to finish is stop")
    text = (message["content"] or "") + (message["refusal"] or "")
    made = [(call["id"], *_chat_words(call)) for call in calls]
    return Result(
        body["id"], text, text, tuple(made), message.get("reasoning_content") or message.get("reasoning") or ""
    )


def _chat_words(call: Wire) -> tuple[str, str]:
    inner = call[call["type"]]
    return inner["name"], inner["arguments" if call["type"] == "function" else "input"]


def _chat_message(message: Wire) -> None:
    _refuse(not isinstance(message["content"], str | None), "the content is no text")
    calls = message.get("tool_calls", [])
    _refuse("tool_calls" in message and not calls, "an empty list of calls")
    for call in calls:
        kind = _check(call, tables.CHAT, "call")["type"]
        _check(call.get(kind), tables.CHAT, kind)
        _call(call["id"], *_chat_words(call))
    _unique([call["id"] for call in calls], "id of a call")
    if message.get("audio"):
        _check(message["audio"], tables.CHAT, "audio")
    for note in message.get("annotations", []):
        _check(_check(note, tables.CHAT, "annotation")["url_citation"], tables.CHAT, "url_citation")


def _chat_usage(usage: Any, used: bool) -> None:
    _refuse(used and usage is None, "no usage")
    if usage is not None:
        _check(usage, tables.CHAT, "usage")
        total = usage["prompt_tokens"] + usage["completion_tokens"]
        _refuse(usage["total_tokens"] != total, f"the tokens do not add up: {usage}")


def _chat_logprobs(found: Any) -> None:
    if found is None:
        return
    for token in _check(found, tables.CHAT, "logprobs")["content"] or []:
        _check(token, tables.CHAT, "token")


class _ChatChoice:
    """One choice of a Chat stream, with the call that is current."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[list[str]] = []
        self.kinds: list[str] = []
        self.finished = ""
        self.begun = False

    def take(self, choice: Wire) -> None:
        delta = choice["delta"]
        _refuse(self.finished, f"content after the end: {choice}")
        for name in tables.NEVER_NULL["delta"].split():
            _refuse(name in delta and delta[name] is None, f"delta.{name} is null")
        if not self.begun:
            _refuse(delta.get("role") != "assistant", f"the first delta has no role: {delta}")
        self.begun = True
        self.text += [delta.get("content") or "", delta.get("refusal") or ""]
        self.thoughts.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        for call in delta.get("tool_calls", []):
            self._take_call(_check(call, tables.CHAT, "chunk call"))
        _chat_logprobs(choice.get("logprobs"))
        self.finished = choice["finish_reason"] or ""

    def _take_call(self, call: Wire) -> None:
        begins = call["index"] == len(self.calls)
        _refuse(not begins and "id" in call, f"a call begins twice: {call}")
        if begins:
            _check(call, tables.CHAT, "call")
            inner = _check(call[call["type"]], tables.CHAT, call["type"])
            self.kinds.append(call["type"])
            self.calls.append([call["id"], inner["name"], ""])
        _refuse(call["index"] != len(self.calls) - 1, f"a call that is not the current one: {call}")
        inner = call.get(self.kinds[-1], {})
        self.calls[-1][2] += inner.get("arguments" if self.kinds[-1] == "function" else "input", "")


def _chat_stream(frames: list[tuple[str, str]], used: bool) -> Result:
    _refuse(not frames or frames[-1][1] != "[DONE]", "the stream does not end with [DONE]")
    choices: dict[int, _ChatChoice] = {}
    usage: Any = None
    heads = set()
    for _, data in frames[:-1]:
        chunk = _check(json.loads(data), tables.CHAT, "chunk")
        heads.add((chunk["id"], chunk["created"], chunk["model"]))
        _refuse(usage is not None, "a chunk after the usage")
        for choice in chunk["choices"]:
            _check(choice, tables.CHAT, "chunk choice")
            choices.setdefault(choice["index"], _ChatChoice()).take(choice)
        usage = chunk.get("usage")
        _refuse(usage is not None and chunk["choices"], "usage beside choices")
    _refuse(len(heads) != 1, f"chunks of several answers: {heads}")
    _refuse(not choices or not all(choice.finished for choice in choices.values()), "a choice without an end")
    _chat_usage(usage, used)
    first = choices[min(choices)]
    _unique([call[0] for call in first.calls], "id of a call")
    text = "".join(first.text)
    return Result(
        next(iter(heads))[0], text, text, tuple(_call(*call) for call in first.calls), "".join(first.thoughts)
    )


# OpenAI Responses


def _response(body: Wire, used: bool) -> Result:
    _response_object(body)
    _refuse(body["status"] not in ("completed", "incomplete"), f"the status {body['status']}")
    return _response_result(body, used)


def _response_object(body: Wire) -> None:
    _check(body, tables.RESPONSES, "response")
    _check(body, tables.OPEN_RESPONSES, "response")
    _check(body["text"], tables.OPEN_RESPONSES, "text")
    if body["reasoning"] is not None:
        _check(body["reasoning"], tables.OPEN_RESPONSES, "reasoning setting")
    for tool in body["tools"]:
        if tool.get("type") == "function":
            _check(tool, tables.RESPONSES, "function")
            _check(tool, tables.OPEN_RESPONSES, "function")


def _response_result(body: Wire, used: bool) -> Result:
    _refuse(used and body["usage"] is None, "no usage")
    if body["usage"] is not None:
        usage = _check(body["usage"], tables.RESPONSES, "usage")
        for details in ("input_tokens_details", "output_tokens_details"):
            _check(usage[details], tables.RESPONSES, details)
        _refuse(usage["total_tokens"] != usage["input_tokens"] + usage["output_tokens"], f"does not add up: {usage}")
    items = body["output"]
    for item in items:
        _response_item(item)
    _unique([item["id"] for item in items if "id" in item], "id of an item")
    calls = [item for item in items if item["type"] in ("function_call", "custom_tool_call")]
    _unique([call["call_id"] for call in calls], "id of a call")
    texts = [_message_text(item) for item in items if item["type"] == "message"]
    thoughts = [part["text"] for item in items if item["type"] == "reasoning" for part in _thoughts(item)]
    made = [_call(one["call_id"], one["name"], one.get("arguments", one.get("input"))) for one in calls]
    return Result(body["id"], "".join(texts), texts[-1] if texts else "", tuple(made), "".join(thoughts))


def _thoughts(item: Wire) -> list[Wire]:
    found: list[Wire] = item["summary"] or item.get("content") or []
    return found


def _message_text(item: Wire) -> str:
    return "".join(part["text"] if part["type"] == "output_text" else part["refusal"] for part in item["content"])


def _response_item(item: Wire) -> None:
    kind = item.get("type", "")
    if kind in tables.RESPONSES:
        _check(item, tables.RESPONSES, kind)
    if kind == "message":
        _refuse(not item["content"], "a message without content")
        for part in item["content"]:
            _response_part(part)
    elif kind == "reasoning":
        for part in [*item["summary"], *item.get("content", [])]:
            _check(part, tables.RESPONSES, part.get("type", "summary_text"))


def _response_part(part: Wire) -> None:
    kind = part.get("type", "")
    _refuse(kind not in ("output_text", "refusal"), f"a part of type {kind!r}")
    _check(part, tables.RESPONSES, kind)
    if kind == "output_text":
        _check(part, tables.OPEN_RESPONSES, kind)
        for note in part["annotations"]:
            if note.get("type") == "url_citation":
                _check(note, tables.RESPONSES, "url_citation")


class _CurrentItem:
    """The one item that a client keeps. Every event until the item is done must be about it."""

    def __init__(self, event: Wire, number: int) -> None:
        self.index, self.item = event["output_index"], event["item"]
        _refuse(self.index != number, f"item {self.index} instead of {number}")
        _refuse(not self.item.get("id"), f"an item without an id: {self.item}")
        self.part = ""
        self.grown: list[str] = []
        self.texts: list[str] = []

    def take(self, event: Wire) -> None:
        kind = event["type"].removeprefix("response.")
        same = (event["output_index"], event["item_id"]) == (self.index, self.item["id"])
        _refuse(not same, f"{kind} of an item that is not the current one")
        if kind.endswith("part.added"):
            _refuse(self.part, "a second part before the first is done")
            place = event.get("content_index", event.get("summary_index"))
            _refuse(place != len(self.texts), f"part {place} instead of {len(self.texts)}")
            self.part, self.grown = event["part"]["type"], []
        elif kind.endswith("part.done"):
            self._end_part(event)
        elif kind.endswith(".delta"):
            called = self.item["type"] in ("function_call", "custom_tool_call", "mcp_call", "code_interpreter_call")
            _refuse(not called and not self.part, f"{kind} without a part")
            self.grown.append(event["delta"])
        elif kind.endswith(".done"):
            words = next(event[name] for name in ("text", "refusal", "arguments", "input", "code") if name in event)
            empty = words == "{}" and not self.grown
            _refuse(words != "".join(self.grown) and not empty, f"{kind} says {words!r:.60}, the deltas did not")

    def _end_part(self, event: Wire) -> None:
        part = event["part"]
        words = part["refusal"] if part["type"] == "refusal" else part["text"]
        _refuse(part["type"] != self.part, f"a {self.part} ends as a {part['type']}")
        _refuse(words != "".join(self.grown), f"a part ends with other words: {words!r:.60}")
        self.texts.append(words)
        self.part = ""

    def end(self, event: Wire) -> Wire:
        item: Wire = event["item"]
        _refuse(event["output_index"] != self.index or item.get("id") != self.item["id"], "another item ends")
        _refuse(self.part, "an item ends before its part")
        _response_item(item)
        if item["type"] == "message":
            _refuse(_message_text(item) != "".join(self.texts), "a message ends with other words")
        if item["type"] == "function_call":
            grown = "".join(self.grown) or "{}"
            _refuse(item["arguments"] != grown, f"a call ends with other arguments: {item}")
        return item


def _response_stream(frames: list[tuple[str, str]], used: bool) -> Result:
    events = [_response_event(name, data) for name, data in frames]
    _refuse([event["sequence_number"] for event in events] != list(range(len(events))), "numbers with gaps")
    _refuse([event["type"] for event in events[:2]] != ["response.created", "response.in_progress"], "no beginning")
    current: _CurrentItem | None = None
    done: list[Wire] = []
    for event in events[2:-1]:
        if event["type"] == "response.output_item.added":
            _refuse(current is not None, "an item opens before the last one is done")
            current = _CurrentItem(event, len(done))
        elif current is None:
            raise Unacceptable(f"{event['type']} without an item")
        elif event["type"] == "response.output_item.done":
            done.append(current.end(event))
            current = None
        else:
            current.take(event)
    _refuse(current is not None, "an item that is never done")
    last = events[-1]
    _refuse(last["type"] not in ("response.completed", "response.incomplete"), f"it ends with {last['type']}")
    _refuse(last["response"]["output"] != done, "the end repeats other items")
    heads = {(event["response"]["id"], event["response"]["model"]) for event in (*events[:2], last)}
    _refuse(len(heads) != 1, f"several responses: {heads}")
    _refuse("response." + last["response"]["status"] != last["type"], "the status is another one")
    return _response_result(last["response"], used)


def _response_event(name: str, data: str) -> Wire:
    event: Wire = json.loads(data)
    _refuse(event.get("type") != name, f"the event {name} is a {event.get('type')}")
    _refuse(name not in tables.RESPONSES_EVENTS, f"an unknown event {name}")
    _check(event, tables.RESPONSES_EVENTS, name)
    if "response" in event:
        _response_object(event["response"])
    return event


# Anthropic


def _anthropic(body: Wire, used: bool) -> Result:
    _anthropic_message(body, used)
    _refuse(body["stop_reason"] is None, "no reason to stop")
    if body["stop_details"] is not None:
        _check(body["stop_details"], tables.ANTHROPIC, "stop_details")
    for block in body["content"]:
        _anthropic_block(block)
    return _anthropic_result(body["id"], body["content"], body["stop_reason"])


def _anthropic_message(body: Wire, used: bool) -> None:
    _check(body, tables.ANTHROPIC, "message")
    usage = _check(body["usage"], tables.ANTHROPIC, "usage")
    _refuse(
        used and not usage["output_tokens"] + usage["input_tokens"] + (usage["cache_read_input_tokens"] or 0), "free"
    )


def _anthropic_block(block: Wire) -> None:
    kind = block.get("type", "")
    if kind in tables.ANTHROPIC:
        _check(block, tables.ANTHROPIC, kind)
    _refuse(kind == "text" and not block["text"], "a text block without text")
    _refuse(kind == "thinking" and not block["signature"], "thinking without a signature")
    _refuse(kind == "tool_use" and not isinstance(block["input"], dict), "the input of a call is no object")


def _anthropic_result(identity: str, blocks: list[Wire], stop: str) -> Result:
    calls = [block for block in blocks if block["type"] == "tool_use"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    _unique([call["id"] for call in calls], "id of a call")
    _refuse(calls and stop == "end_turn", "calls, and the reason to stop is end_turn")
    last = blocks[-1] if blocks else {"type": "text", "text": ""}
    made = [_call(call["id"], call["name"], json.dumps(call["input"])) for call in calls]
    shown = last.get("text", "") if not calls else ""
    return Result(identity, "".join(texts), shown, tuple(made), "".join(thoughts))


_GROWS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
}


_CALLED = ("tool_use", "server_tool_use", "mcp_tool_use")


class _CurrentBlock:
    """The one block that a client keeps."""

    def __init__(self, event: Wire, number: int) -> None:
        _refuse(event["index"] != number, f"block {event['index']} instead of {number}")
        self.index: int = event["index"]
        self.block: Wire = dict(event["content_block"])
        kind = self.block.get("type", "")
        if kind in tables.ANTHROPIC:
            _check(self.block, tables.ANTHROPIC, kind)
        self.json: list[str] = []

    def take(self, event: Wire) -> None:
        _refuse(event["index"] != self.index, f"a delta of block {event['index']} while {self.index} is open")
        delta = event["delta"]
        kind = delta.get("type", "")
        _check(delta, tables.ANTHROPIC_DELTAS, kind)
        if kind in _GROWS:
            wanted, member = _GROWS[kind]
            _refuse(self.block["type"] != wanted, f"{kind} in a {self.block['type']}")
            self.block[member] += delta[member]
        elif kind == "input_json_delta":
            _refuse(self.block["type"] not in _CALLED, f"{kind} in a {self.block['type']}")
            self.json.append(delta["partial_json"])

    def end(self, event: Wire) -> Wire:
        _refuse(event["index"] != self.index, "another block ends")
        if self.json:
            self.block["input"] = _object("".join(self.json))
        _anthropic_block(self.block)
        return self.block


def _object(text: str) -> Any:
    """Arguments that a limit cut off are no JSON; a client stops there anyway."""
    try:
        return json.loads(text)
    except ValueError:
        return {"cut off": text}


def _anthropic_stream(frames: list[tuple[str, str]], used: bool) -> Result:
    events = [_anthropic_event(name, data) for name, data in frames]
    kinds = [event["type"] for event in events]
    _refuse(kinds[:1] != ["message_start"], "no beginning")
    _refuse(kinds[-2:] != ["message_delta", "message_stop"], f"it ends with {kinds[-2:]}")
    message = events[0]["message"]
    _anthropic_message(message, False)
    _refuse(message["content"] or message["stop_reason"], "it begins with its end")
    current: _CurrentBlock | None = None
    done: list[Wire] = []
    for event in events[1:-2]:
        if event["type"] == "content_block_start":
            _refuse(current is not None, "a block opens before the last one is closed")
            current = _CurrentBlock(event, len(done))
        elif current is None:
            raise Unacceptable(f"{event['type']} without a block")
        elif event["type"] == "content_block_stop":
            done.append(current.end(event))
            current = None
        else:
            current.take(event)
    _refuse(current is not None, "a block that is never closed")
    return _anthropic_end(message["id"], events[-2], done, used)


def _anthropic_event(name: str, data: str) -> Wire:
    event: Wire = json.loads(data)
    _refuse(event.get("type") != name, f"the event {name} is a {event.get('type')}")
    _refuse(name not in tables.ANTHROPIC_EVENTS or name == "error", f"the event {name}")
    return _check(event, tables.ANTHROPIC_EVENTS, name)


def _anthropic_end(identity: str, event: Wire, done: list[Wire], used: bool) -> Result:
    delta = _check(event["delta"], tables.ANTHROPIC, "message_delta delta")
    usage = _check(event["usage"], tables.ANTHROPIC, "message_delta usage")
    _refuse(used and not usage["output_tokens"] + (usage["input_tokens"] or 0), "no usage")
    _refuse(delta["stop_reason"] is None, "no reason to stop")
    return _anthropic_result(identity, done, delta["stop_reason"])


# Gemini


def _gemini(body: Wire, used: bool) -> Result:
    return _gemini_chunks([body], used)


def _gemini_stream(frames: list[tuple[str, str]], used: bool) -> Result:
    return _gemini_chunks([json.loads(data) for _, data in frames], used)


def _gemini_chunks(chunks: list[Wire], used: bool) -> Result:
    heads = set()
    parts: list[Wire] = []
    finished: set[int] = set()
    for chunk in chunks:
        _check(chunk, tables.GEMINI, "response")
        heads.add((chunk["responseId"], chunk["modelVersion"]))
        for candidate in chunk.get("candidates", []):
            found = list(_gemini_parts(candidate, finished))
            parts += found if not candidate["index"] else []
    _refuse(len(heads) != 1 or not all(next(iter(heads))), f"several answers: {heads}")
    last = chunks[-1]
    blocked = (last.get("promptFeedback") or {}).get("blockReason")
    _refuse(not finished and not blocked, "no reason to finish")
    _refuse(used and "usageMetadata" not in last, "no usage")
    if "usageMetadata" in last:
        _check(last["usageMetadata"], tables.GEMINI, "usageMetadata")
    return _gemini_result(last["responseId"], parts)


def _gemini_parts(candidate: Wire, finished: set[int]) -> Iterator[Wire]:
    _check(candidate, tables.GEMINI, "candidate")
    _refuse(candidate["index"] in finished, "content after the end")
    content = _check(candidate["content"], tables.GEMINI, "content")
    _refuse(content.get("parts") == [], "a list of no parts")
    for part in content.get("parts", []):
        for kind in ("functionCall", "inlineData"):
            if kind in part:
                _check(part[kind], tables.GEMINI, kind)
        yield part
    reason = candidate.get("finishReason")
    if reason is not None:
        _refuse(reason not in tables.GEMINI_FINISH.split(), f"finishReason is {reason!r}")
        finished.add(candidate["index"])


def _gemini_result(identity: str, parts: list[Wire]) -> Result:
    _refuse(parts and parts[-1].get("text") == "", f"it ends with a part without text: {parts[-1:]}")
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    _unique([call["id"] for call in calls if "id" in call], "id of a call")
    texts = [part["text"] for part in parts if "text" in part and not part.get("thought")]
    thoughts = [part["text"] for part in parts if "text" in part and part.get("thought")]
    made = [_call(call.get("id", ""), call["name"], json.dumps(call["args"])) for call in calls]
    order = tuple(next(iter(part)) for part in parts)
    return Result(identity, "".join(texts), "".join(texts), tuple(made), "".join(thoughts), order)


# Cohere


def _cohere(body: Wire, used: bool) -> Result:
    answer = _check(body, tables.COHERE, "answer")
    message = _check(answer["message"], tables.COHERE, "message")
    for block in message.get("content", []):
        _cohere_block(block)
    for citation in message.get("citations", []):
        _check(citation, tables.COHERE, "citation")
    _refuse(message.get("tool_calls") == [], "an empty list of calls")
    _cohere_usage(answer["usage"], used)
    calls = [_cohere_call(call) for call in message.get("tool_calls", [])]
    return _cohere_result(answer["id"], message.get("content", []), message.get("tool_plan", ""), calls)


def _cohere_block(block: Any) -> Wire:
    _refuse(not isinstance(block, dict) or block.get("type") not in ("text", "thinking"), f"no block: {block!r:.80}")
    return _check(block, tables.COHERE, block["type"])


def _cohere_call(call: Wire) -> tuple[str, str, str]:
    _check(call, tables.COHERE, "call")
    function = _check(call["function"], tables.COHERE, "function")
    return _call(call["id"], function["name"], function["arguments"])


def _cohere_usage(usage: Any, used: bool) -> None:
    _check(usage, tables.COHERE, "usage")
    tokens = _check(usage["tokens"], tables.COHERE, "tokens")
    _refuse(used and not tokens["output_tokens"] and not tokens["input_tokens"], "no usage")


def _cohere_result(identity: str, blocks: list[Wire], plan: str, calls: list[tuple[str, str, str]]) -> Result:
    _refuse(not identity, "no id")
    _unique([call[0] for call in calls], "id of a call")
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    _refuse("" in texts, "a block without text")
    thoughts = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    last = blocks[-1].get("text", "") if blocks else ""
    return Result(identity, "".join(texts) + plan, last or plan, tuple(calls), thoughts)


class _CohereParts:
    """A stream as its reader holds it: one open block or call, each with the next number."""

    def __init__(self) -> None:
        self.blocks: list[Wire] = []
        self.calls: list[Wire] = []
        self.plan = ""
        self.open = ""
        self.cited = 0

    def take(self, name: str, event: Wire) -> None:
        message = event.get("delta", {}).get("message", {})
        if name == "tool-plan-delta":
            _refuse(self.open or self.calls, "a plan beside another part")
            self.plan += message["tool_plan"]
        elif name.startswith("citation"):
            self._cite(name, event, message)
        elif name.startswith("content"):
            self._grow("content", name, event, message, self.blocks)
        else:
            self._grow("tool-call", name, event, message, self.calls)

    def _grow(self, kind: str, name: str, event: Wire, message: Wire, parts: list[Wire]) -> None:
        step = name.removeprefix(kind + "-")
        if step == "start":
            _refuse(self.open, f"{name} while {self.open} is open")
            _refuse(event["index"] != len(parts), f"{name} has the number {event['index']}")
            self.open = kind
            parts.append(_cohere_block(message["content"]) if kind == "content" else message["tool_calls"])
            return
        _refuse(self.open != kind or event["index"] != len(parts) - 1, f"{name} of a part that is not open")
        if step == "end":
            self.open = ""
        elif kind == "content":
            word = parts[-1]["type"]
            parts[-1] = {**parts[-1], word: parts[-1][word] + message["content"][word]}
        else:
            parts[-1]["function"]["arguments"] += message["tool_calls"]["function"]["arguments"]

    def _cite(self, name: str, event: Wire, message: Wire) -> None:
        if name == "citation-start":
            _check(message["citations"], tables.COHERE, "citation")
            _refuse(event["index"] != self.cited, "citations are not counted")
        else:
            _refuse(event["index"] != self.cited, "the end of another citation")
            self.cited += 1


def _cohere_stream(frames: list[tuple[str, str]], used: bool) -> Result:
    _refuse(len(frames) < 3 or frames[-1] != ("", "[DONE]"), "the stream does not end with [DONE]")
    events = [(name, json.loads(data)) for name, data in frames[:-1]]
    for name, event in events:
        _refuse(event["type"] != name, f"{name} calls itself {event['type']}")
    (first, head), (last, end) = events[0], events[-1]
    _refuse((first, last) != ("message-start", "message-end"), f"from {first} to {last}")
    _check(head["delta"]["message"], tables.COHERE, "message")
    parts = _CohereParts()
    for name, event in events[1:-1]:
        _refuse(name.startswith("message"), f"{name} within an answer")
        parts.take(name, event)
    _refuse(parts.open, f"{parts.open} has no end")
    _check(end["delta"], tables.COHERE, "end")
    _refuse(end["delta"].get("error"), "a failure")
    _cohere_usage(end["delta"]["usage"], used)
    return _cohere_result(head["id"], parts.blocks, parts.plan, [_cohere_call(call) for call in parts.calls])


# Bedrock


def _bedrock(body: Wire, used: bool) -> Result:
    try:
        return _bedrock_result(bedrock_reader.whole(body))
    except bedrock_reader.Misread as fault:
        raise Unacceptable(str(fault)) from None


def _bedrock_stream(body: bytes, used: bool) -> Result:
    try:
        return _bedrock_result(bedrock_reader.StreamReader().read(body).blocks)
    except (bedrock_reader.Misread, ParserError) as fault:
        raise Unacceptable(str(fault)) from None


def _bedrock_result(blocks: list[Wire]) -> Result:
    texts = [_bedrock_text(block) for block in blocks]
    calls = [block["toolUse"] for block in blocks if "toolUse" in block and not block["toolUse"].get("type")]
    _unique([call["toolUseId"] for call in calls], "id of a call")
    made = [_call(call["toolUseId"], call["name"], _as_text(call["input"])) for call in calls]
    last = texts[-1] if texts else ""
    return Result("", "".join(texts), last, tuple(made), order=tuple(next(iter(block), "") for block in blocks))


def _bedrock_text(block: Wire) -> str:
    cited = block.get("citationsContent", {}).get("content", [])
    return str(block.get("text", "")) + "".join(one["text"] for one in cited)


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


_Whole = Callable[[Wire, bool], Result]
_Streamed = Callable[[list[tuple[str, str]], bool], Result]
# Ollama


def _ollama(body: Wire, used: bool) -> Result:
    return _ollama_stream([("", json.dumps(body))], used)


def _ollama_stream(lines: list[tuple[str, str]], used: bool) -> Result:
    texts, thoughts, calls, order = [], [], [], []
    ended = False
    heads = set()
    for _, data in lines:
        _refuse(ended, "a line after the end")
        line = _check(json.loads(data), tables.OLLAMA, "line")
        heads.add((line["model"], line["created_at"]))
        message = _check(line["message"], tables.OLLAMA, "message")
        texts.append(message["content"])
        thoughts.append(message.get("thinking", ""))
        order += [name for name in ("thinking", "content", "tool_calls") if message.get(name)]
        calls += [_ollama_call(call) for call in message.get("tool_calls", [])]
        ended = line["done"]
        if ended:
            _check(line, tables.OLLAMA, "last line")
            _refuse(used and None in map(line.get, ("prompt_eval_count", "eval_count")), "no usage")
    _refuse(not ended, "the stream has no end")
    _refuse(len(heads) != 1, f"lines of several answers: {heads}")
    _unique([identity for identity, _, _ in calls], "id of a call")
    runs = tuple(kind for at, kind in enumerate(order) if not at or order[at - 1] != kind)
    text = "".join(texts)
    return Result("", text, text, tuple(calls), "".join(thoughts), runs if len(lines) > 1 else ())


def _ollama_call(call: Wire) -> tuple[str, str, str]:
    function = _check(_check(call, tables.OLLAMA, "call")["function"], tables.OLLAMA, "function")
    _refuse(not isinstance(function["arguments"], dict), "arguments that are no object")
    return _call(call["id"], function["name"], json.dumps(function["arguments"]))


def _bytes(body: bytes) -> bytes:
    return body


class _Reader(NamedTuple):
    """Who reads the answers of a dialect."""

    whole: _Whole
    streamed: _Streamed
    cut: Callable[[bytes], Any] = _frames
    """How a stream is cut into frames."""


_READERS = ByDialect(
    "tests/strict_readers.py, who reads its answers",
    {
        "openai-chat": _Reader(_chat, _chat_stream),
        "openai-responses": _Reader(_response, _response_stream),
        "anthropic": _Reader(_anthropic, _anthropic_stream),
        "gemini": _Reader(_gemini, _gemini_stream),
        "ollama": _Reader(_ollama, _ollama_stream, _lines),
        "cohere": _Reader(_cohere, _cohere_stream),
        "bedrock": _Reader(_bedrock, _bedrock_stream, _bytes),
    },
)
