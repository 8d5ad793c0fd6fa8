"""Tools that Bedrock runs for Nova in Converse: their declarations, and the blocks of calls and results."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.parts import Json, Opaque
from dragoman.conversation.provider_tools import (
    CitationRange,
    Family,
    FoundPage,
    ProviderTool,
    ProviderToolCodec,
    ToolRun,
    WrittenTool,
)
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.bedrock import ORIGIN
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.provider_tools import Members, lost_settings, object_in, objects_in, open_block, word_in
from dragoman.dialects.shared.raw_json import encode

_FAMILIES: Mapping[str, Family] = {"nova_grounding": Family.WEB_SEARCH, "nova_code_interpreter": Family.CODE}
_NAMES = {family: name for name, family in _FAMILIES.items()}
_SERVER = "server_tool_use"
_CODE = "snippet"
"""The code in the input of a call."""
_PRINTED = ("stdOut", "stdErr")
_HIDDEN = "[HIDDEN]"
"""Stands for what a search has found, which is not shown."""


def parse_tool(tool: NativeTool, members: Mapping[str, Json]) -> ProviderTool | None:
    name = word_in(object_in(open_block(tool.json), "systemTool"), "name")
    family = _FAMILIES.get(name)
    return ProviderTool(family, name=name) if family is not None else None


def render_tool(tool: ProviderTool, kind: str) -> WrittenTool | None:
    if _FAMILIES.get(kind) is not tool.family:
        return None
    return WrittenTool(encode({"systemTool": {"name": kind}}), lost=lost_settings(tool, ()), kind="systemTool")


def parse_run(block: Opaque) -> ToolRun | None:
    found = object_in(open_block(block.json), block.kind)
    if block.kind == "toolUse" and (family := _FAMILIES.get(word_in(found, "name"))):
        given = object_in(found, "input")
        arguments = {"code": given[_CODE]} if _CODE in given else given
        return ToolRun(family, word_in(found, "toolUseId"), arguments=encode(arguments), is_open=True)
    if block.kind == "toolResult" and (family := _FAMILIES.get(word_in(found, "type").removesuffix("_result"))):
        return _parse_result(family, found)
    return None


def _parse_result(family: Family, found: Members) -> ToolRun:
    content = objects_in(found.get("content"))
    texts = [word_in(one, "text") for one in content if word_in(one, "text") != _HIDDEN]
    values = [object_in(one, "json") for one in content]
    texts += [word_in(value, name) for value in values for name in _PRINTED]
    texts += [encode(value).decode() for value in values if value and not any(name in value for name in _PRINTED)]
    pages = [_parse_page(object_in(one, "searchResult")) for one in content if "searchResult" in one]
    failed = "error" if word_in(found, "status") == "error" else ""
    failed = "error" if any(value.get("isError") is True for value in values) else failed
    output = "\n".join(filter(None, texts))
    identity = word_in(found, "toolUseId")
    return ToolRun(family, identity, output=output or None, pages=tuple(pages), error=failed)


def _parse_page(found: Members) -> FoundPage:
    texts = [word_in(one, "text") for one in objects_in(found.get("content"))]
    return FoundPage(word_in(found, "source"), word_in(found, "title"), "\n".join(filter(None, texts)))


def render_run(run: ToolRun) -> tuple[Opaque, ...]:
    name = _NAMES.get(run.family)
    if name is None:
        return ()
    identity, arguments = vendor_id("tooluse_", run.id), open_block(run.arguments or b"{}")
    content: list[Members] = [{"text": f"{page.title or page.url}\n{page.url}"} for page in run.pages]
    if run.family is Family.CODE:
        arguments = {_CODE: word_in(arguments, "code") or word_in(arguments, "command")}
        failed = bool(run.error)
        content = [
            {"json": {"stdOut": run.output or "", "stdErr": run.error, "exitCode": 0 + failed, "isError": failed}}
        ]
    call = {"toolUse": {"toolUseId": identity, "name": name, "input": arguments, "type": _SERVER}}
    status = "error" if run.error else "success"
    content = content or [{"text": run.error or _HIDDEN}]
    result = {"toolUseId": identity, "content": content, "status": status, "type": f"{name}_result"}
    return _make_block("toolUse", call), _make_block("toolResult", {"toolResult": result})


def _make_block(kind: str, wire: Members) -> Opaque:
    return Opaque(kind=kind, json=encode(wire), origin=ORIGIN)


CODEC = ProviderToolCodec(parse_tool, render_tool, parse_run, render_run, cites=CitationRange.BLOCK)
