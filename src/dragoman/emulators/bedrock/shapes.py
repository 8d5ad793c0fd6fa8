"""The service model of Converse: the members of a request and their types."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.bedrock.refusals import BedrockRefusal, constraint, place, unfit
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    boolean,
    both,
    bounded,
    complete,
    filled,
    integer,
    items,
    matching,
    number,
    one_of,
    table,
    text,
    text_up_to,
    unmasked,
)

_object = RecordShape({}, open=True)


def _union(**kinds: Shape) -> Shape:
    """An object with exactly one of these keys."""

    members = RecordShape(kinds)

    def check(value: Any, path: Path) -> None:
        members(value, path)
        if len(value) != 1:
            raise ShapeMismatch(MismatchKind.TYPE, path, value, "exactly one of its members")

    return check


_TITLE = re.compile(r"[a-zA-Z0-9_()\[\]-]+( [a-zA-Z0-9_()\[\]-]+)*")
_MOST_STOPS = 2500
_call_id = unmasked(both(text_up_to(64), matching("[a-zA-Z0-9_.:-]+", whole=True)))
_name = unmasked(both(text_up_to(64), matching("[a-zA-Z0-9_-]+", whole=True)))


def _title(value: Any, path: Path) -> None:
    text_up_to(200, nonempty=True)(value, path)
    if not _TITLE.fullmatch(value):
        raise BedrockRefusal(
            "The model returned the following errors: The document file name can only contain alphanumeric characters, "
            "whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one "
            "consecutive whitespace character."
        )


def _input(value: Any, path: Path) -> None:
    if not isinstance(value, dict):
        raise BedrockRefusal(f"The value at {place(path)} is empty or not a JSON object.")


def _output(value: Any, path: Path) -> None:
    if not isinstance(value, dict):
        at = ".".join(map(str, path))
        raise BedrockRefusal(
            f"The format of the value at {at} is invalid. Provide a json object for the field and try again."
        )


def _input_schema(value: Any, path: Path) -> None:
    _object(value, path)
    if value.get("type") != "object":
        at = ".".join(map(str, path))
        raise BedrockRefusal(f"The value at {at}.type must be one of the following: object.")


def _stops(value: Any, path: Path) -> None:
    items(filled)(value, path)
    if len(value) > _MOST_STOPS:
        raise constraint("[...]", place(path), f"Member must have length less than or equal to {_MOST_STOPS}")


_S3 = RecordShape({"uri": text, "bucketOwner": text}, ("uri",))
_cache_point = RecordShape({"type": one_of("default"), "ttl": one_of("5m", "1h")}, ("type",))
_citations = complete(enabled=boolean)
_texts = items(complete(text=text))
_IMAGES = ("png", "jpeg", "gif", "webp")
_FILES = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
_image = complete(format=one_of(*_IMAGES), source=_union(bytes=filled, s3Location=_S3))
_document = complete(name=_title, source=_union(bytes=filled, text=filled, content=_texts, s3Location=_S3)).adding(
    {"format": one_of(*_FILES), "context": text, "citations": _citations}
)
_video = complete(format=text, source=_union(bytes=filled, s3Location=_S3))
# The formats of films are an enum in the service model, but `video/mp4` was taken by Nova (recorded).
_audio = complete(format=text, source=_union(bytes=filled, s3Location=_S3))
_search = complete(source=text, title=text, content=_texts).adding({"citations": _citations})
_reasoning = _union(
    reasoningText=RecordShape({"text": text, "signature": text}, ("text",)),
    redactedContent=filled,
)
_guard = _union(
    text=complete(text=text).adding({"qualifiers": items(one_of("grounding_source", "query", "guard_content"))}),
    image=complete(format=one_of("png", "jpeg"), source=_union(bytes=filled)),
)
_call = RecordShape(
    {"toolUseId": _call_id, "name": _name, "input": _input, "type": text}, ("toolUseId", "name", "input")
)
_result = complete(
    toolUseId=_call_id,
    content=items(
        _union(json=_output, text=text, image=_image, document=_document, video=_video, searchResult=_search)
    ),
).adding({"status": one_of("success", "error"), "type": text})
_block = _union(
    text=text,
    image=_image,
    document=_document,
    video=_video,
    audio=_audio,
    toolUse=_call,
    toolResult=_result,
    reasoningContent=_reasoning,
    cachePoint=_cache_point,
    guardContent=_guard,
    citationsContent=RecordShape({"content": _texts, "citations": items(_object)}),
    searchResult=_search,
    toolAddition=_object,
    toolRemoval=_object,
)
_message = complete(role=one_of("user", "assistant", "system"), content=items(_block))
_spec = complete(name=_name, inputSchema=_union(json=_input_schema)).adding({"description": filled, "strict": boolean})
_tool = _union(toolSpec=_spec, systemTool=complete(name=text), cachePoint=_cache_point)
_tool_config = complete(tools=items(_tool, nonempty=True)).adding(
    {"toolChoice": _union(auto=RecordShape({}), any=RecordShape({}), tool=complete(name=text))}
)
_schema = RecordShape({"schema": text, "name": text, "description": text}, ("schema",))
_output = RecordShape(
    {
        "textFormat": complete(type=one_of("json_schema"), structure=_union(jsonSchema=_schema)),
        "effort": one_of("low", "medium", "high", "xhigh", "max"),
    }
)
REQUEST = RecordShape(
    {
        "messages": items(_message),
        "system": items(_union(text=filled, cachePoint=_cache_point, guardContent=_guard)),
        "inferenceConfig": RecordShape(
            {
                "maxTokens": bounded(integer, 1),
                **dict.fromkeys(("temperature", "topP"), bounded(number, 0, 1)),
                "stopSequences": _stops,
            }
        ),
        "toolConfig": _tool_config,
        "outputConfig": _output,
        "additionalModelRequestFields": _object,
        "additionalModelResponseFieldPaths": items(text),
        "guardrailConfig": _object,
        "requestMetadata": table(text),
        "serviceTier": complete(type=one_of("priority", "default", "flex", "reserved")),
        "performanceConfig": _object,
        "promptVariables": _object,
    }
)


def check_shape(body: dict[str, Any]) -> None:
    """Raises the first `BedrockRefusal` about types, bounds and patterns."""
    try:
        REQUEST(body, ())
    except ShapeMismatch as mismatch:
        raise unfit(mismatch) from None
