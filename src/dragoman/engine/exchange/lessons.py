"""Lessons: refusals that we recognise, and the fact that each of them corrects.

A provider changes what it accepts before a profile can know. Its refusal says so in words; the request is compiled
again from the client's original with that one fact corrected. A lesson is tried once per request, and remembered for
its target if the corrected request was accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure
from dragoman.engine.exchange import corrections
from dragoman.engine.exchange.corrections import REFUSES, Patch, Recognised, fixed, most
from dragoman.profiles.facts import Facts
from dragoman.wire.error_wording import cut_matched_part
from dragoman.wire.late_pattern import LatePattern


class Lesson(msgspec.Struct, frozen=True):
    """A refusal that is understood."""

    name: str
    says: tuple[LatePattern, ...]
    """Patterns that are found one after another in the refusal."""
    teaches: Callable[[Recognised], Patch | None]
    """The corrected facts, or None if they say so already."""
    statuses: tuple[int, ...] = (400, 404, 422, 500, 502)
    """Proxies hand on a refusal of the provider behind them with a status of their own, such as 502."""
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
    text = _words(failure)
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


def _words(failure: Failure) -> str:
    """What a refusal says. Some providers put the sentence where the name of a field belongs, behind a general one."""
    text = f"{failure.message}: {failure.param}" if " " in failure.param else failure.message
    return cut_matched_part(text)


def is_recognised(failure: Failure) -> bool:
    """Whether a refusal is in the words of a lesson, even one that teaches nothing more."""
    text = _words(failure)
    return any(failure.status in lesson.statuses and lesson.search(text) for lesson in LESSONS)


def _lesson(
    name: str, says: str | tuple[str, ...], teaches: Callable[[Recognised], Patch | None], **more: Any
) -> Lesson:
    patterns = (says,) if isinstance(says, str) else says
    return Lesson(name, tuple(LatePattern(one, flags=re.DOTALL) for one in patterns), teaches, **more)


_TOOL_TYPE = r"\A(?=.*?generatecontentrequest|.*?tools\[\d{1,6}\])(?=.*?tool_type)(?=.*?one_?of)"
"""In any order. Without the anchor every position of the text would be looked ahead from."""

_ALTERNATE = (
    r"roles must alternate|roles should be alternating|should alternate with assistant|"
    r"requests alternate between user and model"
)

_FORCED = (
    r"thinking mode does not support this tool_choice|is incompatible with thinking enabled|"
    r"being set to required or object in thinking mode"
)

_UNDECRYPTED = r"could not decrypt the provided encrypted_content"

LESSONS: tuple[Lesson, ...] = (
    _lesson("tool-wrapper", _TOOL_TYPE, corrections.next_wrapper),
    _lesson("tools-dropped", _TOOL_TYPE, corrections.last_resort, lasting=False),
    _lesson("turn-unsigned", r"(?:image|text) part is missing a thought_signature", corrections.demand_turn_signature),
    _lesson(
        "signature-entry",
        r"require openrouter reasoning details to be preserved",
        fixed(
            call_signature=REFUSES,
            signature_skip="skip_thought_signature_validator",
            state_format="google-gemini-v1",
        ),
    ),
    _lesson("missing-signature", r"missing a .?thought_signature", corrections.demand_signature),
    _lesson(
        "block-unread",
        r"encrypted content (?P<head>[^\s.]{1,16})\.{3}(?P<tail>[^\s.]{1,16}) could not be verified|" + _UNDECRYPTED,
        corrections.unread_block,
        lasting=False,
    ),
    _lesson(
        "block-unknown",
        r"invalid value: '(?P<kind>\w{1,80})'\. supported values are: |"
        r"input tag '(?P<tag>\w{1,80})' found using 'type' does not match|"
        r"unsupported content type in contentblockparamunion: (?P<block>\w{1,80})",
        corrections.unknown_block,
    ),
    _lesson(
        "item-parted",
        r"item '[\w-]{1,120}' of type '(?P<kind>\w{1,60})' was provided without its required ",
        corrections.keeps_no_items,
        lasting=False,
    ),
    _lesson(
        "item-not-found",
        r"item with id '[\w-]{1,120}' not found|invalid 'input\[\d{1,6}\]\.id': .{1,200}? expected an id ",
        corrections.keeps_no_items,
        lasting=False,
    ),
    _lesson(
        "tool-unknown",
        r"tools\[\d{1,5}\]\.type: unknown variant [`'](\w{1,60})[`']|the (\w{1,60}) tool is no longer supported|"
        r"hosted tool '(\w{1,60})' is not supported|field: 'tools\[\d{1,5}\]\.type', value: '(\w{1,60})'|"
        r"invalid value: '(\w{1,60})'\. supported values are: ",
        corrections.unknown_tool,
    ),
    _lesson(
        "signature-refused",
        r"thought signature is not valid|(corrupted|invalid) thought signature|"
        r"invalid .?(signature|data).? in .?(redacted_)?thinking|encrypted content .{1,200}? could not be verified|"
        r"blocks in the latest assistant message cannot be modified|thought_signature is invalid|"
        r"signature in the reasoningcontent block .{1,80}? is invalid|reasoningcontent\.reasoningtext\.signature field|"
        r"payloads can only be replayed to the endpoint|encrypted_content.? was not issued to this caller|"
        r"encrypted content missing recognized prefix|encrypted reasoning was created for a different|" + _UNDECRYPTED,
        fixed(reasoning_trusted=False),
        lasting=False,
    ),
    _lesson(
        "found-refused",
        r"invalid encrypted_content in search_result|each .?\w{1,60}_tool_result.? block must have a corresponding",
        fixed(native_blocks="refuses"),
        lasting=False,
    ),
    _lesson(
        "signature-ladder",
        r"thought signature is not valid|(corrupted|invalid) thought signature",
        corrections.next_signature,
        lasting=False,
    ),
    _lesson(
        "reasoning-demanded",
        (
            r"reasoning_content|content\[\]\.thinking",
            r"must be passed back|field in the assistant message|is missing in assistant tool call",
        ),
        corrections.demand_reasoning,
    ),
    _lesson(
        "system-opening",  # a second one at the opening is late, too
        r"system message must be at the beginning|invalid params, invalid chat setting|invalid message role: system",
        fixed(system_place="opening", system_count="one"),
    ),
    _lesson(
        "system-placement",
        r"role 'system' must (follow|precede)|unexpected role 'system' after",
        fixed(system_place="opening"),
    ),
    _lesson("system-top-level", r"role 'system' is not supported on this model", fixed(system_place="top-level")),
    _lesson("role-unknown", r"please use a valid role: user, model", corrections.next_role),
    _lesson(
        "system-refused",
        r"system role not supported|does not support 'system' with this model|unexpected role .?system|"
        r"doesn't support system messages",
        corrections.refuse_system,
    ),
    _lesson(
        "developer-refused",
        r"unexpected role .?developer|unknown variant .?developer|does not support 'developer' with this model|"
        r"unexpected message role(?=\.|: developer)|\bdeveloper.? is not one of|"
        r"invalid value: 'developer'|input tag 'developer'|incorrect role information|"
        r"'role' must be one of 'system', 'assistant'|input should be 'system', 'user', 'assistant'",
        fixed(developer_role=REFUSES),
    ),
    _lesson(
        "alternation-demanded",
        rf"{_ALTERNATE}|unexpected role 'user' after role 'tool'",
        fixed(repeated_roles=REFUSES, user_after_tool=REFUSES, first_turn="user"),
    ),
    _lesson(
        "systems-break-alternation", _ALTERNATE, corrections.next_system
    ),  # they alternate already: a system stands between
    _lesson(
        "first-turn-demanded",
        r"function call turn comes immediately after a user turn|first message must use the .?user|"
        r"must start with a user message",
        fixed(first_turn="user"),
    ),
    _lesson("user-demanded", r"no user query found in messages", fixed(system_only=REFUSES, no_user=REFUSES)),
    _lesson(
        "prefill-refused",
        r"does not support assistant message prefill|expected last role user or tool|end with a user role|"
        r"must end with a user message|last message must have role|response prefill is incompatible|"
        r"last turn in the conversation to be a user message",
        fixed(last_turn="user"),
    ),
    _lesson("last-turns-counted", r"cannot have 2 or more assistant messages at the end", fixed(repeated_last=REFUSES)),
    _lesson(
        "pairs-demanded",
        r"must be followed by tool messages|must be a response to a precee?ding message|"
        r"not the same number of function calls and responses|unexpected role 'tool' after role|"
        r"(?:duplicate|unexpected) tool call id .{1,80}? in tool results|tool result's tool id\(.{0,80}?\) not found|"
        r"tool_call_id .{0,80}?is not found|tool call result does not follow tool call|"
        r"no tool (?:output found for function call|call found for function call output)|"
        r"tool call and result not match|"
        r"ids were found without .?tool_result|tool_use_id.? found in .?tool_result",
        fixed(orphan_result=REFUSES, missing_result=REFUSES, late_result=REFUSES, repeated_result=REFUSES),
    ),
    _lesson("calls-counted", r"only supports single tool-calls at once", fixed(parallel_calls=REFUSES)),
    _lesson(
        "arguments-demanded",
        r"function\.arguments.{1,40}must be in json format|invalid function arguments json|"
        r"invalid tool call arguments|arguments must be a valid json object string|"
        r"failed to parse tool call arguments|can only get item pairs from a mapping|"
        r"\A(?:unterminated string starting at|expecting .{1,40}?|extra data): line \d{1,9} column \d{1,9} \(char",
        fixed(bad_arguments=REFUSES),
    ),
    _lesson(
        "limit-range",
        r"max_tokens: \d{1,12} > (\d{1,9}), which is the maximum|model supports at most (\d{1,9}) completion tokens|"
        r"valid range of max_tokens is \[\d{1,3}, ?(\d{1,9})\]|requested exceeds the model limit of (\d{1,9})|"
        r"max_(?:completion_)?tokens\b.{1,60}?integer above maximum value[.,] expected a value <= (\d{1,9})|"
        r"less than or equal to [`'\"]?(\d{1,9})[`'\"]?, the maximum value for [`'\"]?max_",
        corrections.greatest_limit,
    ),
    _lesson(
        "limit-name",
        (r"'max_tokens' is not supported", r"use '(?P<wanted>max_completion_tokens)'"),
        corrections.other_limit,
    ),
    _lesson(
        "call-id-form",
        r"must be a-z, A-Z, 0-9, with a length of 9|alphanumeric strings with length 9",
        fixed(call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9, odd_call_id=REFUSES),
    ),
    _lesson(
        "call-id-alphabet",
        r"tool_use\.id: string should match pattern",
        fixed(call_id_pattern="[a-zA-Z0-9_-]+", odd_call_id=REFUSES),
    ),
    _lesson(
        "call-id-length",
        r"tool_calls\[\d+\]\.id': string too long",
        fixed(call_id_pattern=".{1,40}", odd_call_id=REFUSES),
    ),
    _lesson(
        "empty-content",
        r"text content blocks must|must have non-empty content|empty text parameter|must include at least one parts|"
        r"at least one content element|with role '\w{1,20}' must not be empty|chat content is empty|"
        r"text field in the contentblock object at .{1,80}? is blank",
        fixed(
            empty_user=REFUSES,
            empty_assistant=REFUSES,
            empty_beside=REFUSES,
            blank_text=REFUSES,
        ),
    ),
    _lesson(
        "null-refused",
        r"'content': expected a string, (?:but )?got null|content type: <nil>|missing field .?content|"
        r"content.{0,80}?(?:field required|must not be null|cannot be null|input_value=none)",
        fixed(call_content="empty", no_parts=REFUSES, no_user_parts=REFUSES),
    ),
    _lesson(
        "text-demanded",
        r"content must be a string|sequence, expected a string|content: input should be a valid string|"
        r"cannot unmarshal array into go struct field .{1,80}?content of type string",
        fixed(list_content=REFUSES, system_parts=REFUSES),
    ),
    _lesson(
        "schema-keyword",
        r'unknown name "[^"]{1,200}" at .{0,400}?(?:parameters|function_?declarations)|'
        r'unknown name "parametersJsonSchema"|'
        r"functiondeclaration .{1,400}? schema didn't specify the schema type|"
        r"function_declarations\[\d{1,5}\]\.parameters\..{1,400}?(?:: missing field|' \(type\.googleapis\.com)",
        corrections.proto_schema,
    ),
    _lesson(
        "forced-choice",
        r"does not support this tool_choice|tool_choice forces tool use is not compatible|"
        rf"thinking may not be enabled when tool_choice forces|{_FORCED}",
        fixed(forced_choice_thinking=REFUSES),
    ),
    _lesson("thinks-unasked", _FORCED, fixed(reasoning_default=True, thinking_off=REFUSES)),
    _lesson(
        "choice-refused",
        r"tool choice must be auto|only 'auto' or 'none' tool_choice is supported|"
        r"support the provided 'tool_choice' value|"
        r"support the toolConfig\.toolChoice\.any field",
        fixed(tool_choices=["auto"]),
        statuses=(400, 404, 422, 500, 501, 502),
    ),
    _lesson(
        "choice-named",
        r"invalid tool_choice type: 'object'|support the toolConfig\.toolChoice\.tool field",
        corrections.refuse_named_choice,
    ),
    _lesson(
        "format-refused",
        r"does not support response format [`'\"]?json_schema|this response_format type is unavailable|"
        r"of type 'json_schema' is not supported|json_schema is enabled only for",
        corrections.fewer_formats,
    ),
    _lesson(
        "format-beside-tools",
        r"json mode cannot be combined with tool|\"tools\" is incompatible with \"response_format",
        fixed(format_with_tools=REFUSES),
    ),
    _lesson(
        "schema-refused",
        r"invalid schema for function '|additionalproperties:false must be set on every object|"
        r"'additionalproperties' is required to be supplied|regex lookaround is not supported",
        corrections.openai_schema,
    ),
    _lesson(
        "tool-name-form",
        r"invalid function name\. must start with a letter|function name is invalid, must start with a letter|"
        r"tools\[\d{1,5}\]\.function\.name': string does not match",
        fixed(tool_name_pattern="[a-zA-Z_][a-zA-Z0-9_-]*"),
    ),
    _lesson("strict-mixed", r"tools with mixed values for 'strict'", fixed(mixed_strict=REFUSES)),
    _lesson(
        "strict-refused",
        r"tools with strict=true are not supported|"
        r"tools\.\d{1,5}\.(?:function|custom)\.strict\W{1,8}extra inputs are not permitted|"
        r"tools\.\d{1,5}\.custom: for '[a-z]{1,20}' type, propert(?:y|ies) .{1,200}? not supported",
        fixed(strict_tools=REFUSES),
    ),
    _lesson(
        "schema-flavored",
        r"not a valid moonshot flavored json schema",
        fixed(schema_form="moonshot", format_schema_form="moonshot"),
    ),
    _lesson(
        "schema-grammar",
        r"failed to parse grammar|error parsing grammar",
        corrections.words_for_grammar,
    ),
    _lesson(
        "schema-limits",
        r"schema: for '[a-z]{1,20}' type, (?:propert(?:y|ies) .{1,200}? not supported|"
        r"'minitems' values other than 0 or 1 are not supported)",
        corrections.limited_schema,
    ),
    _lesson(
        "tools-counted",
        r"'tools' ?: maximum number of items is (\d{1,6})|"
        r"invalid 'tools': array too long\. expected an array with maximum length (\d{1,6})",
        most("tools_max"),
    ),
    _lesson(
        "turn-counted",
        r"invalid 'messages\[\d{1,6}\]\.tool_calls': array too long\. expected an array with maximum length (\d{1,6})",
        most("calls_max"),
    ),
    _lesson(
        "stops-counted",
        r"invalid 'stop': array too long\. expected an array with maximum length (\d{1,6})|"
        r"number of stop_sequences must not exceed (\d{1,6})",
        most("stop_max"),
    ),
    _lesson("stops-in-range", r"stopsequences value of \d{1,6} but the supported range", fixed(stop_max=5)),
    _lesson(
        "tools-unique",
        r"tool names must be unique|duplicate function declaration found",
        fixed(duplicate_tools=REFUSES),
    ),
    _lesson(
        "reference-lost",
        r"tool reference '.{1,200}?' (?:not found in available tools|has no corresponding tool definition)",
        fixed(tool_references={"tool_reference": "tool_name"}),
    ),
    _lesson(
        "setting-length",
        r"invalid '(?P<name>user|prompt_cache_key|safety_identifier)': string too long\. "
        r"expected a string with maximum length (?P<most>\d{1,6})",
        corrections.longest,
    ),
    _lesson(
        "tier-unknown",
        r"invalid value: '(?P<value>\w{1,40})'\. supported values are: (?P<known>[^.]+)|"
        r"'service_tier' ?: value must be one of (?P<listed>[^.]+)",
        corrections.learn_tiers,
    ),
    _lesson("logprobs-refused", r"logprobs are not enabled", corrections.without_settings("logprobs", "top_logprobs")),
    _lesson(
        "penalties-refused",
        r"penalty is not enabled for",
        corrections.without_settings("frequency_penalty", "presence_penalty"),
    ),
    _lesson(
        "image-unreachable",
        r"(?:error|timeout) while downloading |failed to download image|unable to download the image",
        corrections.without_medium("image", "url"),
        lasting=False,
    ),
    # It does not say which one.
    _lesson(
        "image-unreadable",
        r"does not represent a valid image|uploaded an unsupported image|could not process image|"
        r"unsupported image format|image format (?:image/\w{1,20} |is )?not supported",
        corrections.without_medium("image"),
        lasting=False,
    ),
    _lesson("image-url-refused", r"image urls are not currently supported", corrections.without_medium("image", "url")),
    _lesson(
        "name-form",
        r"invalid 'messages\[\d{1,6}\]\.name': string does not match",
        fixed(message_name_pattern="[a-zA-Z0-9_-]+"),
    ),
    _lesson(
        "medium-refused",
        r"(?:unknown variant [`']|invalid part type: )(?P<part>image_url|video_url|input_audio|file)"
        r"(?:[`'], expected [`']text|\Z)",
        corrections.refuse_medium,
    ),
    _lesson(
        "picture-mistyped",
        r"image appears to be an? image/|image does not match the provided media type",
        fixed(mistyped_media=REFUSES),
    ),
    _lesson(
        "result-picture",
        r"does(?:n't| not) support the image field for user messages|param incorrect: `text` is not set|"
        r"only text tool_result blocks are supported|tool messages? content only supports text",
        corrections.without_medium("image", "result"),
    ),
    _lesson(
        "images-refused",
        r"image input is not supported|not supported for vision|does not support image input|is not a multimodal model|"
        r"no endpoints found that support image input|image input not supported|image inputs are not supported|"
        r"cannot preprocess image len\(|image input is not enabled|image_url is only supported by certain models",
        corrections.without_medium("image"),
    ),
    _lesson(
        "images-counted",
        r"at most (\d{1,4}) images?\b|supports up to (\d{1,4}) images|image_count > (\d{1,4})",
        corrections.fewer_images,
    ),
    _lesson("json-word-demanded", r"must contain the word .{0,2}json", fixed(json_word=REFUSES)),
    _lesson("tools-with-effort", r"function tools with reasoning_effort", corrections.refuse_tools),
    _lesson(
        "reasoning-refused",
        r"reasoning is not supported with this model|cannot pass both content and thinking",
        fixed(reasoning_text=REFUSES),
    ),
    _lesson("levels-refused", r"think value .{1,40} is not supported", fixed(efforts=["none"])),
    _lesson(
        "thinking-refused",
        r"does not support thinking|thinking is not supported by this model|"
        r"reasoning_effort[`'\"]? is not supported with",
        fixed(thinking_form="none"),
    ),
    _lesson("thinking-without-level", r"thinking level is not supported", fixed(thinking_form="budget")),
    _lesson("level-refused", r"thinking level (?P<level>[a-z]+) is not supported", corrections.other_levels),
    _lesson(
        "budget-range",
        r"thinking budget \(-?\d{1,9}\) is invalid\. "
        r"please choose a value between (?P<least>\d{1,9}) and (?P<most>\d{1,9})",
        corrections.budget_range,
    ),
    _lesson(
        "budget-positive",
        r"thinking_budget parameter must be a positive integer and not greater than (?P<most>\d{1,9})",
        corrections.positive_budget,
    ),
    _lesson("thinking-by-budget", r"adaptive thinking is not supported", fixed(thinking_form="budget")),
    _lesson(
        "thinking-adaptive",
        r"thinking\.type\.enabled is not supported|invalid thinking\.type: .?enabled.? \(allowed: adaptive",
        fixed(thinking_form="adaptive"),
    ),
    _lesson("efforts-known", (r"effort level '\w+'", r"supported levels: (?P<known>[^.]+)"), corrections.learn_efforts),
    _lesson(
        "effort-unknown",
        (
            r"(?:unsupported|invalid) value: '(?:none|minimal|low|medium|high|xhigh|max)'[ .]|"
            r"reasoning_effort(?=.{1,80}?(?:supported values are:|must be one of))|invalid reasoning value:",
            r"(?:supported values are:|must be(?: one of)?) (?P<known>[^.]+)",
        ),
        corrections.learn_efforts,
    ),
    _lesson(
        "value-refused",
        r"unsupported value: '(?P<name>[\w.]{1,60})' does not support '|"
        r"unsupported value: '[\w.-]{1,60}' is not supported",
        corrections.refuse_value,
    ),
    _lesson("stream-refused", r"must be verified to stream this model", fixed(streams=REFUSES)),
    _lesson("summary-refused", r"must be verified to generate reasoning summaries", corrections.refuse_summaries),
    _lesson("state-refused", r"encrypted content is not supported with this model", corrections.refuse_state),
    _lesson("thinking-mandatory", r"reasoning is mandatory for this endpoint", fixed(thinking_off=REFUSES)),
    _lesson(
        "effort-with-tools",
        r"tools cannot be used with reasoning\.effort '(?P<effort>\w{1,20})'",
        corrections.other_effort_with_tools,
        lasting=False,
    ),
    _lesson(
        "api-wrong",
        r"not supported in the v1/chat/completions endpoint|only supported in v1/responses|"
        r"the chatcompletion operation does not work with the specified model|"
        r"is not accessible via the /chat/completions endpoint",
        fixed(served_here=False),
    ),
    _lesson("hints-unserved", r"no endpoints found that support cache control", fixed(cache_hints=REFUSES)),
    _lesson(
        "thinking-whole",
        r"enable_thinking must be set to false for non-streaming|enable thinking can not be support when `stream=",
        fixed(thinking_whole=REFUSES, reasoning_default=True),
    ),
    _lesson("tools-streamed", r"support tool use in streaming mode", fixed(tools_streamed=REFUSES)),
    _lesson(
        "tools-refused",
        r"does not support (?:tools|tool calling|function calling)|(?:tool calling|function call).? is not supported|"
        r"function calling not support|does not currently support: \['tools'|"
        r"tool choice requires --enable-auto-tool-choice|support tool use|tools is not supported in this model",
        corrections.without_tools,
    ),
    _lesson("parameters-demanded", r"function parameters is empty", fixed(tools_without_schema=REFUSES)),
    _lesson(
        "header-word",
        r"unexpected value\(s\) (?P<words>`[^`]{1,200}`(?:, `[^`]{1,200}`){0,40}) for the `(?P<header>[a-z-]{1,40})",
        corrections.refuse_words,
    ),
    # It does not say which one; in another conversation they may be needed.
    _lesson("beta-refused", r"invalid beta flag", corrections.no_betas, lasting=False),
    _lesson(
        "sampling-refused",
        r"(?P<name>temperature|top_p|top_k)[`'\"]?"
        r"(?: (?:is deprecated|does not support|may only be set|must be (?:greater|unset))|: only \S+ is allowed)",
        corrections.refuse_named,
    ),
    _lesson(
        "sampling-both",
        r"temperature[`'\"]? and [`'\"]?top_p[`'\"]? cannot both be specified",
        fixed(settings={"top_p": {"without": "temperature"}}),
    ),
    _lesson(
        "fields-refused",
        r"(?:does not support parameters: \[|unrecognized request arguments supplied: )(?P<names>[^\]]{1,2000})",
        corrections.refuse_fields,
    ),
    _lesson("ids-refused", r"unknown name \"id\" at '.{1,80}?function_(?:call|response)'", fixed(call_ids=REFUSES)),
    _lesson(
        "field-refused",
        r"(?:unsupported parameter(?:\(s\))?: |unsupported param: |unknown parameter: |"
        r"unrecognized request argument supplied: |unknown field (?=['\"`])|"
        r"argument not supported on this model: |does not support parameter |doesn't support the (?=\w+ field)|"
        r"unknown name (?=['\"`])|property (?=['\"`]))['\"`]?(?P<name>[\w.\[\]-]+)",
        corrections.refuse_field,
    ),
    _lesson(
        "field-unexpected",
        r"additional properties are not allowed \('(?P<name>\w+)' was unexpected\)",
        lambda refusal: (
            corrections.stray_field(refusal) if _names_messages(refusal.match) else corrections.refuse_field(refusal)
        ),
    ),
    _lesson(
        "one-answer",
        r"only n ?= ?1 is supported|multiple candidates is not enabled|only one candidate can be specified|"
        r"candidateCount must be 1|only one completion choice is allowed|'n' : number must be at most 1",
        corrections.without_settings("n"),
    ),
    # Tried at the start of a word only; every letter of a long one would be the start of another search.
    _lesson(
        "extra-input",
        r"(?<![\w.])(?P<name>[\w.]++)(?:: |\s{1,8})extra inputs are not permitted",
        corrections.refuse_field,
    ),
    _lesson(
        "extra-field",
        r"(?:extra inputs are not permitted, field: |'extra_forbidden', 'loc': \('body', )'(?P<name>[^']+)'",
        corrections.refuse_field,
    ),
    _lesson(
        "limit-refused",
        r"\bmax_(?:completion_)?tokens\b",
        corrections.without_settings("max_tokens"),
        statuses=(422,),
        lasting=False,  # it may have been the number, not the name
    ),
)


def _names_messages(match: re.Match[str]) -> bool:
    return "messages" in match.string[match.end() :].lower()
