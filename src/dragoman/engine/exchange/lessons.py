"""Lessons: refusals that we recognise, and the fact that each of them corrects.

A provider changes what it accepts before a profile can know. Its refusal says so in words; the request is compiled
again from the client's original with that one fact corrected. A lesson is tried once per request, and remembered for
its target if the corrected request was accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure
from dragoman.conversation.messages import Role
from dragoman.conversation.parts import Opaque, Reasoning
from dragoman.conversation.reasoning_states import CHAT_FIELDS, DETAIL
from dragoman.conversation.settings import Effort
from dragoman.profiles.facts import NEEDS_FILLED, Facts, Need, Stance, SystemPlace, Turn
from dragoman.wire.error_wording import matched_part

Patch = dict[str, Any]
_REFUSES = "refuses"

_SETTINGS: Mapping[str, str] = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "random_seed": "seed",
    "stop_sequences": "stop",
    "stopSequences": "stop",
    "topP": "top_p",
    "topK": "top_k",
    "reasoning_effort": "thinking",
}
"""Names on the wire that we call otherwise."""


class Recognised(msgspec.Struct, frozen=True):
    """A refusal in words that we know, and what it was about."""

    failure: Failure
    match: re.Match[str]
    facts: Facts
    conversation: Conversation


class Lesson(msgspec.Struct, frozen=True):
    """A refusal that is understood."""

    name: str
    says: tuple[re.Pattern[str], ...]
    """Patterns that are found one after another in the refusal."""
    teaches: Callable[[Recognised], Patch | None]
    """The corrected facts, or None if they say so already."""
    statuses: tuple[int, ...] = (400, 404, 422, 500)
    lasting: bool = True

    def search(self, text: str) -> re.Match[str] | None:
        """The match of the last pattern. Each search begins where the one before ended, so the text is read once,
        which `first.*last` in one pattern does not promise."""
        found, at = None, 0
        for pattern in self.says:
            found = pattern.search(text, at)
            if found is None:
                return None
            at = found.end()
        return found


class Learnt(msgspec.Struct, frozen=True):
    """A lesson taken from one refusal."""

    lesson: str
    """Its name."""
    facts: Patch
    """The facts that it corrects."""
    lasting: bool = True
    """If not, it is true of this conversation only."""
    tentative: bool = False
    """It was inferred, not stated, and waits for another request to confirm it."""


def learn(failure: Failure, facts: Facts, conversation: Conversation) -> Learnt | None:
    """The first lesson in a refusal that would change what is sent. `conversation` is the client's own."""
    text = matched_part(failure.message)
    for lesson in LESSONS:
        if failure.status not in lesson.statuses:
            continue
        match = lesson.search(text)
        if match is None:
            continue
        patch = lesson.teaches(Recognised(failure, match, facts, conversation))
        if patch:
            return Learnt(lesson.name, patch, lesson.lasting)
    return None


def is_recognised(failure: Failure) -> bool:
    """Whether a refusal is in the words of a lesson, even one that teaches nothing more."""
    text = matched_part(failure.message)
    return any(failure.status in lesson.statuses and lesson.search(text) for lesson in LESSONS)


def _blocks(refusal: Recognised) -> Iterator[Opaque]:
    """The blocks of the provider's own that the target was sent."""
    facts = refusal.facts
    for message in refusal.conversation.messages:
        for part in message.parts:
            if type(part) is Opaque and part.origin.dialect == facts.dialect and part.kind not in facts.refused_blocks:
                yield part


def _unread_block(refusal: Recognised) -> Patch | None:
    """A block with sealed content that the target did not make. If the refusal does not say which, thoughts are left
    out first: their words are not all that there is."""
    head, tail = refusal.match["head"], refusal.match["tail"]
    if head is None and refusal.facts.reasoning_trusted and _holds_thoughts(refusal.conversation):
        return None
    sealed = re.compile(rb'"encrypted_content"\s*:\s*"%s[^"]*%s"' % (_escaped(head), _escaped(tail)))
    found = {block.kind for block in _blocks(refusal) if sealed.search(block.json)}
    return {"refused_blocks": [*refusal.facts.refused_blocks, *sorted(found)]} if found else None


def _escaped(text: str | None) -> bytes:
    return re.escape((text or "").encode())


def _holds_thoughts(conversation: Conversation) -> bool:
    return any(
        type(part) is Reasoning and part.state is not None
        for message in conversation.messages
        for part in message.parts
    )


def _unknown_block(refusal: Recognised) -> Patch | None:
    """A kind of block that the target does not have."""
    kind = refusal.match["kind"] or refusal.match["tag"]
    known = all(block.kind != kind for block in _blocks(refusal))
    return None if known else {"refused_blocks": [*refusal.facts.refused_blocks, kind]}


def _fixed(**patch: Any) -> Callable[[Recognised], Patch | None]:
    """A lesson with one answer; None if the facts hold it already."""
    return lambda refusal: dict(patch) if _lacks(refusal.facts, patch) else None


def _lacks(facts: Facts, patch: Patch) -> bool:
    """Whether the facts say something else."""
    known: Patch = msgspec.to_builtins({name: getattr(facts, name) for name in patch})
    return known != patch


def _demand_reasoning(refusal: Recognised) -> Patch | None:
    """First with the turns that call tools. If that is not enough, in that field alone, and then with the words that
    follow the results too."""
    facts = refusal.facts
    need = facts.reasoning_required if facts.reasoning_required in NEEDS_FILLED else Need.TOOL_TURNS
    wanted: Patch = {
        "reasoning_required": need.value,
        "reasoning_default": True,
        "reasoning_field": "reasoning_content",
    }
    if _lacks(facts, wanted):
        return wanted
    if facts.reasoning_states and _holds_thoughts(refusal.conversation):
        return {"reasoning_states": []}
    return {"reasoning_required": Need.TOOL_EXCHANGES.value} if need is Need.TOOL_TURNS else None


def _refused_tools(refusal: Recognised) -> Patch | None:
    """Tools beside an effort are refused. If the client named none, the model's own counts: it thinks by itself."""
    facts, named = refusal.facts, refusal.conversation.settings.thinking
    patch: Patch = {"tools_with_effort": "refuses"} if facts.tools_with_effort is not Stance.REFUSES else {}
    if named is None and not facts.reasoning_default:
        patch = {**patch, "reasoning_default": True}
    if patch and facts.thinking is Stance.UNKNOWN:
        patch = {**patch, "thinking": "accepts"}
    return patch or None


def _greatest_limit(refusal: Recognised) -> Patch | None:
    """The greatest token limit that the model takes."""
    most = int(refusal.match[refusal.match.lastindex or 0])
    known = refusal.facts.output_limit == most and refusal.facts.above_output_limit is Stance.REFUSES
    return None if known or most < 1 else {"output_limit": most, "above_output_limit": _REFUSES}


def _next_wrapper(refusal: Recognised) -> Patch | None:
    """The next shape of the target's ladder."""
    ladder = refusal.facts.tool_ladder
    here = ladder.index(refusal.facts.tool_wrapper) if refusal.facts.tool_wrapper in ladder else -1
    # The shape is the only one then: what the client itself wrote in another is written in this one.
    return {"tool_wrapper": ladder[here + 1], "tool_wrappers": []} if here + 1 < len(ladder) else None


def _last_resort(refusal: Recognised) -> Patch | None:
    """No tools, where a tool has just answered and the client left the choice of tools open."""
    conversation = refusal.conversation
    last = conversation.messages[-1].role if conversation.messages else None
    open_choice = conversation.settings.tool_choice is None
    if not (refusal.facts.tools_last_resort and last is Role.TOOL and open_choice):
        return None
    patch = _without_tools(refusal)
    return patch and {**patch, "choice_without_tools": "accepts"}


def _without_tools(refusal: Recognised) -> Patch | None:
    return {"tools": _REFUSES} if refusal.facts.tools is not Stance.REFUSES else None


def _refused_name(refusal: Recognised) -> Patch | None:
    """A field named in the refusal: a setting, or something inside the messages."""
    name = refusal.match["name"]
    if _inside_messages(refusal.match.string, name):
        return _stray_field(refusal)
    head = name.removeprefix("body.").partition(".")[0].partition("[")[0]  # servers made with FastAPI count from there
    if head == "stream_options":
        return {"stream_usage": _REFUSES} if refusal.facts.stream_usage is not Stance.REFUSES else None
    if head in ("messages", "contents", "input", "tools", "system"):
        return None
    if head in refusal.facts.refused_settings:
        return None
    ours = _SETTINGS.get(head, head)
    patch: Patch = {"refused_settings": [*refusal.facts.refused_settings, head]}
    if ours == "thinking":
        patch["thinking_form"] = "none"
    elif ours != head or ours in _TYPED:
        patch["settings"] = {ours: {"support": _REFUSES}}
    return patch


_TYPED = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "logprobs", "top_logprobs", "frequency_penalty"}
    | {"presence_penalty", "parallel_tool_calls", "verbosity", "user", "metadata", "service_tier", "store"}
    | {"prompt_cache_key", "max_tokens"}
)


def _inside_messages(text: str, name: str) -> bool:
    return bool(re.search(r"messages[.\[]|contents[.\[]|input\[", text[: text.find(name) + len(name)]))


def _most(fact: str) -> Callable[[Recognised], Patch | None]:
    """The refusal says how many there may be."""

    def teach(refusal: Recognised) -> Patch | None:
        most = int(refusal.match[refusal.match.lastindex or 0])
        return None if most < 1 or getattr(refusal.facts, fact) == most else {fact: most}

    return teach


def _longest(refusal: Recognised) -> Patch | None:
    """The refusal says how long the text of a setting may be."""
    name, most = refusal.match["name"], int(refusal.match["most"])
    return None if most < 1 or refusal.facts.setting(name).length == most else {"settings": {name: {"length": most}}}


def _known_tiers(refusal: Recognised) -> Patch | None:
    """The refusal lists the service tiers that there are."""
    asked, value = refusal.conversation.settings.service_tier, refusal.match["value"]
    if asked is None or (value is not None and value != asked):
        return None
    known = re.findall(r"'([\w-]{1,40})'", refusal.match["known"] or refusal.match["listed"])
    if asked in known or not known or refusal.facts.setting("service_tier").values == tuple(known):
        return None
    return {"settings": {"service_tier": {"values": known}}}


def _free_choice(refusal: Recognised) -> Patch | None:
    return {"tool_choices": ["auto"]} if refusal.facts.tool_choices != ("auto",) else None


def _without_logprobs(refusal: Recognised) -> Patch | None:
    if refusal.facts.setting("logprobs").support is Stance.REFUSES:
        return None
    return {"settings": {name: {"support": _REFUSES} for name in ("logprobs", "top_logprobs")}}


def _fixed_medium(kind: str, way: str) -> Callable[[Recognised], Patch | None]:
    """Media that is refused in this way."""
    return lambda refusal: (
        None if getattr(refusal.facts.medium(kind), way) is Stance.REFUSES else {"media": {kind: {way: _REFUSES}}}
    )


def _fewer_formats(refusal: Recognised) -> Patch | None:
    """No schema; and where that is refused too, no JSON."""
    known = refusal.facts.response_formats
    left = [one for one in known if one != ("schema" if "schema" in known else "json")]
    return {"response_formats": left} if len(left) < len(known) else None


def _refused_medium(refusal: Recognised) -> Patch | None:
    """Media in a part that the target does not have."""
    kind = _MEDIA_PARTS[refusal.match["part"].lower()]
    refused = {"inline": _REFUSES, "url": _REFUSES}
    medium = refusal.facts.medium(kind)
    known = medium.inline is Stance.REFUSES and medium.url is Stance.REFUSES
    return None if known else {"media": {kind: refused}}


_MEDIA_PARTS = {"image_url": "image", "video_url": "video", "input_audio": "audio", "file": "document"}


def _other_limit(refusal: Recognised) -> Patch | None:
    wanted = refusal.match["wanted"]
    return None if refusal.facts.limit_name == wanted else {"limit_name": wanted}


def _system_refused(refusal: Recognised) -> Patch | None:
    if refusal.facts.system_count.value == "none":
        return None
    return {"system_count": "none"}


def _demand_signature(refusal: Recognised) -> Patch | None:
    """The value that skips the check; calls as text where that was refused before."""
    facts = refusal.facts
    if facts.call_signature is not Stance.REFUSES and facts.signature_skip and not facts.reasoning_trusted:
        return None if facts.flat_tools else {"flat_tools": True}
    return _SKIPPED if facts.call_signature is not Stance.REFUSES or not facts.signature_skip else None


def _next_signature(refusal: Recognised) -> Patch | None:
    """The client's signatures were refused: the value that skips the check, then none, then calls as text."""
    facts = refusal.facts
    if facts.thought_in_id is not Stance.REFUSES or not facts.signature_skip:
        return {**_SKIPPED, "thought_in_id": _REFUSES}
    if facts.call_signature is Stance.REFUSES:
        return {"call_signature": "accepts"}
    return None if facts.flat_tools else {"flat_tools": True}


_SKIPPED: Patch = {"call_signature": _REFUSES, "signature_skip": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}


def _next_role(refusal: Recognised) -> Patch | None:
    """Gemini's two roles: the user opens, the system text to the opening, then roles that nobody knows, then the turns
    of tools."""
    facts, messages = refusal.facts, refusal.conversation.messages
    opening = refusal.conversation.opening
    if facts.first_turn is not Turn.USER and messages[opening:] and messages[opening].role is Role.ASSISTANT:
        return {"first_turn": "user"}
    if facts.system_place not in (SystemPlace.OPENING, SystemPlace.TOP_LEVEL):
        return {"system_place": "opening"}
    if facts.unknown_role is not Stance.REFUSES:
        return {"unknown_role": _REFUSES}
    if not facts.flat_tools and any(message.role is Role.TOOL for message in messages):
        return {"flat_tools": True}
    return _system_refused(refusal)


def _next_system(refusal: Recognised) -> Patch | None:
    """Only at the opening; and where that is refused too, none at all."""
    if refusal.facts.system_place in (SystemPlace.OPENING, SystemPlace.TOP_LEVEL):
        return _system_refused(refusal)
    return {"system_place": "opening"}


def _known_efforts(refusal: Recognised) -> Patch | None:
    """The refusal lists the efforts that there are."""
    efforts = [word for word in re.findall(r"[a-z]+", refusal.match["known"].lower()) if word in _EFFORTS]
    ordered = [effort for effort in _EFFORTS if effort in efforts]
    return {"efforts": ordered} if ordered and tuple(ordered) != refusal.facts.efforts else None


_EFFORTS = tuple(str(effort) for effort in Effort)


def _no_levels(refusal: Recognised) -> Patch | None:
    """The model thinks or does not, and no effort can be named."""
    return {"efforts": ["none"]} if refusal.facts.efforts != ("none",) else None


def _refused_words(refusal: Recognised) -> Patch | None:
    """The refusal names the words of a header that it does not know."""
    header = refusal.match["header"].lower()
    known = refusal.facts.refused_words.get(header, ())
    words = [word for word in refusal.match["words"].split("`") if word.strip(", ") and word not in known]
    return {"refused_words": {header: [*known, *words]}} if words else None


def _no_betas(refusal: Recognised) -> Patch | None:
    known = refusal.facts.refused_words.get(_BETAS, ())
    return None if "*" in known else {"refused_words": {_BETAS: ["*"]}}


_BETAS = "anthropic-beta"


def _openai_schema(refusal: Recognised) -> Patch | None:
    """OpenAI's words. Who has a form of its own does not get another."""
    known = refusal.facts.schema_form != "json-schema"
    return None if known else {"schema_form": "openai", "format_schema_form": "openai"}


def _proto_schema(refusal: Recognised) -> Patch | None:
    if refusal.facts.schema_form == "gemini-proto":
        return None
    return {"schema_form": "gemini-proto", "schema_as": "parameters"}


def _lesson(
    name: str, says: str | tuple[str, ...], teaches: Callable[[Recognised], Patch | None], **more: Any
) -> Lesson:
    patterns = (says,) if isinstance(says, str) else says
    return Lesson(name, tuple(re.compile(one, re.IGNORECASE | re.DOTALL) for one in patterns), teaches, **more)


_TOOL_TYPE = r"\A(?=.*?generatecontentrequest|.*?tools\[\d{1,6}\])(?=.*?tool_type)(?=.*?one_?of)"
"""In any order. Without the anchor every position of the text would be looked ahead from."""

_ALTERNATE = r"roles must alternate|should alternate with assistant|requests alternate between user and model"

_UNDECRYPTED = r"could not decrypt the provided encrypted_content"

LESSONS: tuple[Lesson, ...] = (
    _lesson("tool-wrapper", _TOOL_TYPE, _next_wrapper),
    _lesson("tools-dropped", _TOOL_TYPE, _last_resort, lasting=False),
    _lesson("missing-signature", r"missing a .?thought_signature", _demand_signature),
    _lesson(
        "block-unread",
        r"encrypted content (?P<head>[^\s.]{1,16})\.{3}(?P<tail>[^\s.]{1,16}) could not be verified|" + _UNDECRYPTED,
        _unread_block,
        lasting=False,
    ),
    _lesson(
        "block-unknown",
        r"invalid value: '(?P<kind>\w{1,80})'\. supported values are: |"
        r"input tag '(?P<tag>\w{1,80})' found using 'type' does not match",
        _unknown_block,
    ),
    _lesson(
        "signature-refused",
        r"thought signature is not valid|(corrupted|invalid) thought signature|invalid .?signature.? in .?thinking|"
        r"encrypted content .{1,200}? could not be verified|blocks in the latest assistant message cannot be modified|"
        + _UNDECRYPTED,
        _fixed(reasoning_trusted=False),
        lasting=False,
    ),
    _lesson(
        "found-refused",
        r"invalid encrypted_content in search_result",
        _fixed(native_blocks="refuses"),
        lasting=False,
    ),
    _lesson(
        "signature-ladder",
        r"thought signature is not valid|(corrupted|invalid) thought signature",
        _next_signature,
        lasting=False,
    ),
    _lesson(
        "reasoning-demanded",
        ("reasoning_content", r"must be passed back|field in the assistant message|is missing in assistant tool call"),
        _demand_reasoning,
    ),
    _lesson("system-opening", r"system message must be at the beginning", _fixed(system_place="opening")),
    _lesson(
        "system-placement",
        r"role 'system' must (follow|precede)|unexpected role 'system' after",
        _fixed(system_place="opening"),
    ),
    _lesson("system-top-level", r"role 'system' is not supported on this model", _fixed(system_place="top-level")),
    _lesson("role-unknown", r"please use a valid role: user, model", _next_role),
    _lesson(
        "system-refused",
        r"system role not supported|does not support 'system' with this model|unexpected role .?system",
        _system_refused,
    ),
    _lesson(
        "developer-refused",
        r"unexpected role .?developer|unknown variant .?developer|does not support 'developer' with this model|"
        r"unexpected message role: developer",
        _fixed(developer_role=_REFUSES),
    ),
    _lesson(
        "alternation-demanded",
        rf"{_ALTERNATE}|unexpected role 'user' after role 'tool'",
        _fixed(repeated_roles=_REFUSES, user_after_tool=_REFUSES, first_turn="user"),
    ),
    _lesson("systems-break-alternation", _ALTERNATE, _next_system),  # they alternate already: a system stands between
    _lesson(
        "first-turn-demanded",
        r"function call turn comes immediately after a user turn|first message must use the .?user",
        _fixed(first_turn="user"),
    ),
    _lesson(
        "prefill-refused",
        r"does not support assistant message prefill|expected last role user or tool|end with a user role|"
        r"must end with a user message",
        _fixed(last_turn="user"),
    ),
    _lesson(
        "limit-range",
        r"max_tokens: \d{1,12} > (\d{1,9}), which is the maximum|model supports at most (\d{1,9}) completion tokens|"
        r"valid range of max_tokens is \[\d{1,3}, ?(\d{1,9})\]|requested exceeds the model limit of (\d{1,9})|"
        r"less than or equal to [`'\"]?(\d{1,9})[`'\"]?, the maximum value for [`'\"]?max_",
        _greatest_limit,
    ),
    _lesson("limit-name", (r"'max_tokens' is not supported", r"use '(?P<wanted>max_completion_tokens)'"), _other_limit),
    _lesson(
        "limit-refused",
        r"\bmax_tokens\b",
        lambda refusal: _refused_name_of("max_tokens", refusal),
        statuses=(422,),
        lasting=False,  # it may have been the number, not the name
    ),
    _lesson(
        "call-id-form",
        r"must be a-z, A-Z, 0-9, with a length of 9",
        _fixed(call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9, odd_call_id=_REFUSES),
    ),
    _lesson(
        "call-id-alphabet",
        r"tool_use\.id: string should match pattern",
        _fixed(call_id_pattern="[a-zA-Z0-9_-]+", odd_call_id=_REFUSES),
    ),
    _lesson(
        "call-id-length",
        r"tool_calls\[\d+\]\.id': string too long",
        _fixed(call_id_pattern=".{1,40}", odd_call_id=_REFUSES),
    ),
    _lesson(
        "empty-content",
        r"text content blocks must|must have non-empty content|empty text parameter|must include at least one parts|"
        r"at least one content element",
        _fixed(empty_user=_REFUSES, empty_assistant=_REFUSES, empty_beside=_REFUSES, blank_text=_REFUSES),
    ),
    _lesson(
        "schema-keyword",
        r'unknown name "[^"]{1,200}" at .{0,400}?(?:parameters|function_?declarations)|'
        r'unknown name "parametersJsonSchema"',
        _proto_schema,
    ),
    _lesson(
        "forced-choice",
        r"does not support this tool_choice|tool_choice forces tool use is not compatible|"
        r"thinking may not be enabled when tool_choice forces",
        _fixed(forced_choice_thinking=_REFUSES),
    ),
    _lesson(
        "thinks-unasked",
        r"thinking mode does not support this tool_choice",
        _fixed(reasoning_default=True, thinking_off=_REFUSES),
    ),
    _lesson("choice-refused", r"tool choice must be auto", _free_choice),
    _lesson(
        "format-refused",
        r"does not support response format [`'\"]?json_schema|this response_format type is unavailable",
        _fewer_formats,
    ),
    _lesson("format-beside-tools", r"json mode cannot be combined with tool", _fixed(format_with_tools=_REFUSES)),
    _lesson(
        "schema-refused",
        r"invalid schema for function '",
        _openai_schema,
    ),
    _lesson(
        "tools-counted",
        r"'tools' ?: maximum number of items is (\d{1,6})|"
        r"invalid 'tools': array too long\. expected an array with maximum length (\d{1,6})",
        _most("tools_max"),
    ),
    _lesson(
        "stops-counted",
        r"invalid 'stop': array too long\. expected an array with maximum length (\d{1,6})",
        _most("stop_max"),
    ),
    _lesson(
        "setting-length",
        r"invalid '(?P<name>user|prompt_cache_key|safety_identifier)': string too long\. "
        r"expected a string with maximum length (?P<most>\d{1,6})",
        _longest,
    ),
    _lesson(
        "tier-unknown",
        r"invalid value: '(?P<value>\w{1,40})'\. supported values are: (?P<known>[^.]{1,400})|"
        r"'service_tier' ?: value must be one of (?P<listed>[^.]{1,400})",
        _known_tiers,
    ),
    _lesson("logprobs-refused", r"logprobs are not enabled", _without_logprobs),
    _lesson(
        "image-url-refused",
        r"image urls are not currently supported",
        _fixed_medium("image", "url"),
    ),
    _lesson(
        "name-form",
        r"invalid 'messages\[\d{1,6}\]\.name': string does not match",
        _fixed(message_name_pattern="[a-zA-Z0-9_-]+"),
    ),
    _lesson(
        "medium-refused",
        r"unknown variant [`'](?P<part>image_url|video_url|input_audio|file)[`'], expected [`']text",
        _refused_medium,
    ),
    _lesson("tools-with-effort", r"function tools with reasoning_effort", _refused_tools),
    _lesson("levels-refused", r"think value .{1,40} is not supported", _no_levels),
    _lesson("thinking-refused", r"does not support thinking", _fixed(thinking_form="none")),
    _lesson("thinking-by-budget", r"adaptive thinking is not supported", _fixed(thinking_form="budget")),
    _lesson("thinking-adaptive", r"thinking\.type\.enabled is not supported", _fixed(thinking_form="adaptive")),
    _lesson(
        "efforts-known",
        (r"effort level '\w+'", r"supported levels: (?P<known>[^.]+)"),
        _known_efforts,
    ),
    _lesson(
        "effort-unknown",
        (
            r"unsupported value: '(?:none|minimal|low|medium|high|xhigh|max)' ",
            r"supported values are: (?P<known>[^.]+)",
        ),
        _known_efforts,
    ),
    _lesson("tools-refused", r"does not support tools", _without_tools),
    _lesson(
        "header-word",
        r"unexpected value\(s\) (?P<words>`[^`]{1,200}`(?:, `[^`]{1,200}`){0,40}) for the `(?P<header>[a-z-]{1,40})",
        _refused_words,
    ),
    # It does not say which one; in another conversation they may be needed.
    _lesson("beta-refused", r"invalid beta flag", _no_betas, lasting=False),
    _lesson(
        "sampling-refused",
        r"(?P<name>temperature|top_p|top_k)[`'\"]? (is deprecated|does not support|may only be set)|"
        r"'(?P<name2>temperature|top_p)' does not support",
        lambda refusal: _refused_name_of(refusal.match["name"] or refusal.match["name2"], refusal),
    ),
    _lesson(
        "field-refused",
        r"(?:unsupported parameter: |unknown parameter: |unrecognized request argument supplied: |"
        r"unknown name (?=['\"`])|property (?=['\"`]))['\"`]?(?P<name>[\w.\[\]-]+)",
        _refused_name,
    ),
    _lesson(
        "field-unexpected",
        r"additional properties are not allowed \('(?P<name>\w+)' was unexpected\)",
        lambda refusal: _stray_field(refusal) if _names_messages(refusal.match) else _refused_name(refusal),
    ),
    _lesson(
        "one-answer",
        r"only n ?= ?1 is supported|multiple candidates is not enabled|only one candidate can be specified|"
        r"candidateCount must be 1|only one completion choice is allowed|'n' : number must be at most 1",
        lambda refusal: _refused_name_of("n", refusal),
    ),
    # Tried at the start of a word only; every letter of a long one would be the start of another search.
    _lesson("extra-input", r"(?<![\w.])(?P<name>[\w.]++): extra inputs are not permitted", _refused_name),
    _lesson("extra-field", r"extra inputs are not permitted, field: '(?P<name>[^']+)'", _refused_name),
)


def _names_messages(match: re.Match[str]) -> bool:
    return "messages" in match.string[match.end() :].lower()


def _stray_field(refusal: Recognised) -> Patch | None:
    """A server that refuses one unknown field of a message checks them all. Thinking has fields of its own."""
    patch: Patch = {}
    if refusal.facts.unknown_fields is not Stance.REFUSES:
        patch["unknown_fields"] = _REFUSES
    if refusal.match["name"].rpartition(".")[2] in CHAT_FIELDS and refusal.facts.reasoning_text is not Stance.REFUSES:
        patch["reasoning_text"] = _REFUSES
    if refusal.match["name"].rpartition(".")[2] == DETAIL and refusal.facts.reasoning_states:
        patch["reasoning_states"] = []
    return patch or None


def _refused_name_of(name: str, refusal: Recognised) -> Patch | None:
    if refusal.facts.setting(name).support is Stance.REFUSES:
        return None
    return {"settings": {name: {"support": _REFUSES}}}
