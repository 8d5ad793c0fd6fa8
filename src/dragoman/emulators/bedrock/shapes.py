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
    anything,
    boolean,
    complete,
    filled,
    integer,
    items,
    number,
    one_of,
    table,
    text,
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


_S3 = RecordShape({"uri": text, "bucketOwner": text}, ("uri",))
_cache_point = RecordShape({"type": one_of("default"), "ttl": one_of("5m", "1h")}, ("type",))
_citations = complete(enabled=boolean)
_texts = items(complete(text=text))
_IMAGES = ("png", "jpeg", "gif", "webp")
_FILES = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
_image = complete(format=one_of(*_IMAGES), source=_union(bytes=filled, s3Location=_S3))
_document = complete(name=filled, source=_union(bytes=filled, text=filled, content=_texts, s3Location=_S3)).adding(
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
_call = RecordShape({"toolUseId": text, "name": text, "input": anything, "type": text}, ("toolUseId", "name", "input"))
_result = complete(
    toolUseId=text,
    content=items(
        _union(json=anything, text=text, image=_image, document=_document, video=_video, searchResult=_search)
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
_spec = complete(name=text, inputSchema=_union(json=_object)).adding({"description": filled, "strict": boolean})
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
            {"maxTokens": integer, "temperature": number, "topP": number, "stopSequences": items(filled)}
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

_BOUNDS = {"maxTokens": (1, None), "temperature": (0, 1), "topP": (0, 1)}
_CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_TITLE = re.compile(r"[a-zA-Z0-9_()\[\]-]+( [a-zA-Z0-9_()\[\]-]+)*")
_LONGEST_ID, _LONGEST_TITLE, _MOST_STOPS = 64, 200, 2500


def check_shape(body: dict[str, Any]) -> None:
    """Raises the first `BedrockRefusal` about types, bounds and patterns."""
    try:
        REQUEST(body, ())
    except ShapeMismatch as mismatch:
        raise unfit(mismatch) from None
    _check_inference(body.get("inferenceConfig") or {})
    for index, message in enumerate(body.get("messages") or []):
        for at, block in enumerate(message["content"]):
            _check_block(block, ("messages", index, "content", at))
    for index, tool in enumerate((body.get("toolConfig") or {}).get("tools", [])):
        _check_tool(tool, ("toolConfig", "tools", index))


def _check_inference(config: dict[str, Any]) -> None:
    for name, (least, most) in _BOUNDS.items():
        value = config.get(name)
        if value is not None and value < least:
            raise constraint(
                str(value), f"inferenceConfig.{name}", f"Member must have value greater than or equal to {least}"
            )
        if value is not None and most is not None and value > most:
            raise constraint(
                str(value), f"inferenceConfig.{name}", f"Member must have value less than or equal to {most}"
            )
    if len(config.get("stopSequences") or []) > _MOST_STOPS:
        raise constraint("[...]", "inferenceConfig.stopSequences", "Member must have length less than or equal to 2500")


def _check_block(block: dict[str, Any], path: Path) -> None:
    kind, content = next(iter(block.items()))
    if kind == "toolUse":
        _check_pattern(content["toolUseId"], _CALL_ID, (*path, kind, "toolUseId"))
        _check_pattern(content["name"], _NAME, (*path, kind, "name"))
        if not isinstance(content["input"], dict):
            raise BedrockRefusal(f"The value at {place(path)}.toolUse.input is empty or not a JSON object.")
    elif kind == "toolResult":
        _check_pattern(content["toolUseId"], _CALL_ID, (*path, kind, "toolUseId"))
        for at, inner in enumerate(content["content"]):
            _check_block(inner, (*path, kind, "content", at))
    elif kind == "document":
        _check_title(content["name"], (*path, kind, "name"))


def _check_title(name: str, path: Path) -> None:
    if len(name) > _LONGEST_TITLE:
        raise constraint(name, place(path), f"Member must have length less than or equal to {_LONGEST_TITLE}")
    if not _TITLE.fullmatch(name):
        raise BedrockRefusal(
            "The model returned the following errors: The document file name can only contain alphanumeric characters, "
            "whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one "
            "consecutive whitespace character."
        )


def _check_tool(tool: dict[str, Any], path: Path) -> None:
    spec = tool.get("toolSpec")
    if spec is None:
        return
    _check_pattern(spec["name"], _NAME, (*path, "toolSpec", "name"))
    if spec["inputSchema"]["json"].get("type") != "object":
        raise BedrockRefusal(
            f"The value at toolConfig.tools.{path[-1]}.toolSpec.inputSchema.json.type must be one of the following: "
            "object."
        )


def _check_pattern(value: str, pattern: re.Pattern[str], path: Path) -> None:
    if "REDACTED" in value:
        return
    if len(value) > _LONGEST_ID:
        raise constraint(value, place(path), f"Member must have length less than or equal to {_LONGEST_ID}")
    if not pattern.fullmatch(value):
        raise constraint(value, place(path), f"Member must satisfy regular expression pattern: {pattern.pattern}")
