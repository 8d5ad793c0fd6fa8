"""A Converse request as Bedrock passes it on to Claude: the body of a Messages request."""

from __future__ import annotations

from typing import Any

import orjson

from dragoman.emulators.anthropic.models import claude_model
from dragoman.emulators.bedrock.refusals import BedrockRefusal

Block = dict[str, Any]
_LIMIT = 4096
_VERSION = "bedrock-2023-05-31"


def claude_body(body: dict[str, Any], model: str) -> dict[str, Any]:
    """The body, without the model: that stands in the path."""
    inference = body.get("inferenceConfig") or {}
    extra = body.get("additionalModelRequestFields") or {}
    made: dict[str, Any] = {
        "anthropic_version": _VERSION,
        "max_tokens": inference.get("maxTokens", _default_limit(extra)),
        "messages": [{"role": one["role"], "content": _blocks(one["content"])} for one in body.get("messages") or []],
        **{name: extra[name] for name in extra},
    }
    for ours, theirs in (("temperature", "temperature"), ("topP", "top_p"), ("stopSequences", "stop_sequences")):
        if ours in inference:
            made[theirs] = inference[ours]
    system = _blocks(body.get("system") or [])
    if system:
        made["system"] = system
    config = body.get("toolConfig") or {}
    if config:
        made |= _tools(config)
    output = _output(body.get("outputConfig") or {}, not claude_model(model).before(4, 1))
    return {**made, "output_config": output} if output else made


def _default_limit(extra: dict[str, Any]) -> int:
    """Bedrock gives a limit if the client gives none: it leaves room for the thinking."""
    thinking = extra.get("thinking")
    budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
    return int(budget) + _LIMIT if isinstance(budget, int) else _LIMIT


def _tools(config: dict[str, Any]) -> dict[str, Any]:
    tools = []
    for tool in config["tools"]:
        spec = tool.get("toolSpec")
        if spec is not None:
            made = {"name": spec["name"], "input_schema": spec["inputSchema"]["json"]}
            tools.append({**made, **{key: spec[key] for key in ("description", "strict") if key in spec}})
    match config.get("toolChoice"):
        case {"any": _}:
            return {"tools": tools, "tool_choice": {"type": "any"}}
        case {"tool": {"name": name}}:
            return {"tools": tools, "tool_choice": {"type": "tool", "name": name}}
    return {"tools": tools}


def _output(config: dict[str, Any], has_formats: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "effort" in config:
        made["effort"] = config["effort"]
    form = config.get("textFormat")
    if form is not None and has_formats:  # on older models a schema was taken too (recorded)
        made["format"] = {"type": "json_schema", "schema": _load(form["structure"]["jsonSchema"]["schema"])}
    return made


def _load(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}


def _blocks(blocks: list[Block]) -> list[Block]:
    made: list[Block] = []
    for block in blocks:
        kind, content = next(iter(block.items()))
        if kind == "cachePoint":
            if made:
                ttl = {"ttl": content["ttl"]} if "ttl" in content else {}
                made[-1] = {**made[-1], "cache_control": {"type": "ephemeral", **ttl}}
            continue
        made += _block(kind, content)
    return made


def _block(kind: str, content: Any) -> list[Block]:
    """The block that means the same; none for what Claude never sees."""
    match kind:
        case "text":
            return [{"type": "text", "text": content}]
        case "json":
            return [{"type": "text", "text": orjson.dumps(content).decode()}]
        case "guardContent":
            return [{"type": "text", "text": content["text"]["text"]}] if "text" in content else []
        case "citationsContent":
            return [{"type": "text", "text": one["text"]} for one in content.get("content", []) if one["text"]]
        case "reasoningContent":
            return [_thinking(content)]
        case "toolUse" if content.get("type") in (None, "tool_use"):
            return [{"type": "tool_use", "id": _id(content), "name": content["name"], "input": content["input"]}]
        case "toolResult" if content.get("type") is None:
            return [_result(content)]
        case "image" if "bytes" in content["source"]:
            source = {"type": "base64", "media_type": f"image/{content['format']}", "data": content["source"]["bytes"]}
            return [{"type": "image", "source": source}]
        case "document":
            _check_cited(content)
            return [{"type": "document", "source": _document_source(content["source"]), "title": content["name"]}]
    return []


def _check_cited(document: Block) -> None:
    """Documents whose words are to be cited. Bytes are taken for a PDF: https://github.com/boto/boto3/issues/4726"""
    if (document.get("citations") or {}).get("enabled") and "bytes" in document["source"]:
        if document.get("format", "pdf") not in ("pdf", "txt"):
            raise BedrockRefusal(
                "Unsupported document format. Only txt and pdf formats are supported when citations are enabled"
            )
        if document.get("format") == "txt":
            raise BedrockRefusal(
                "The model returned the following errors: messages.0.content.1.image.source.bytes: The PDF specified "
                "was not valid."
            )


def _thinking(content: Block) -> Block:
    if "redactedContent" in content:
        return {"type": "redacted_thinking", "data": content["redactedContent"]}
    inner = content["reasoningText"]
    return {"type": "thinking", "thinking": inner["text"], "signature": inner.get("signature", "")}


def _result(content: Block) -> Block:
    made: Block = {"type": "tool_result", "tool_use_id": _id(content)}
    inner = _blocks(content["content"])
    if inner:
        made["content"] = inner
    return {**made, "is_error": True} if content.get("status") == "error" else made


def _id(content: Block) -> str:
    """Claude's own ids have fewer letters than Bedrock's."""
    return str(content["toolUseId"]).replace(".", "_").replace(":", "_")


def _document_source(source: Block) -> Block:
    """Other formats than these are turned into text on the way."""
    if "bytes" in source:
        return {"type": "base64", "media_type": "application/pdf", "data": source["bytes"]}
    text = source.get("text") or " ".join(one["text"] for one in source.get("content", []))
    return {"type": "text", "media_type": "text/plain", "data": text or "-"}
