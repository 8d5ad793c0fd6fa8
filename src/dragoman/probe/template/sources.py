"""A chat template from a file: Jinja text, `tokenizer_config.json`, `chat_template.json` or GGUF, told by content."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.errors import TemplateError
from dragoman.probe.template.gguf import MAGIC, GgufMetadata, read_gguf
from dragoman.probe.template.renderer import TemplateEngine

DEFAULT = "default"
TOOL_USE = "tool_use"

_MOST_JSON = 64 * 1024 * 1024
_MOST_TEXT = 1024 * 1024


class TemplateSource(msgspec.Struct, frozen=True):
    """A template with what stands beside it."""

    text: str
    tool_template: str = ""
    """The one that servers use if tools are declared."""
    bos: str = "<s>"
    """The model's own mark of a beginning."""
    eos: str = "</s>"
    """The model's own mark of an end."""
    context_window: int = 0
    origin: str = "chat template"
    """Where it comes from, for the evidence of a profile."""
    engine: TemplateEngine = TemplateEngine.JINJA2
    """What runs it."""


def read_template_file(path: Path) -> TemplateSource:
    """The template of a file. Raises TemplateError."""
    try:
        with path.open("rb") as file:
            if file.read(4) == MAGIC:
                file.seek(0)
                return from_gguf(read_gguf(file), path.name)
            file.seek(0)
            content = file.read(_MOST_JSON + 1)
    except OSError as fault:
        raise TemplateError(f"cannot be read: {fault.strerror}", at=str(path)) from None
    return read_template(content, path.name)


def read_template(content: bytes, origin: str = "chat template") -> TemplateSource:
    """The template in some bytes that are no GGUF file."""
    if len(content) > _MOST_JSON:
        raise TemplateError(f"is larger than {_MOST_JSON // (1024 * 1024)} MB and no GGUF file", at=origin)
    stripped = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if stripped[:1] == b"{" and stripped[:2] not in (b"{%", b"{{", b"{#"):
        return _from_json(stripped, origin)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TemplateError("is neither text, JSON nor a GGUF file", at=origin) from None
    if "{%" not in text and "{{" not in text:
        raise TemplateError(
            "has no Jinja template in it", at=origin, hint="give a template, a tokenizer_config.json or a GGUF file"
        )
    return from_text(text, origin)


def from_text(text: str, origin: str = "chat template") -> TemplateSource:
    if len(text) > _MOST_TEXT:
        raise TemplateError(f"the template is longer than {_MOST_TEXT} characters", at=origin)
    return TemplateSource(text, origin=origin)


def from_gguf(metadata: GgufMetadata, origin: str) -> TemplateSource:
    source = _choose(metadata.templates, origin)
    found = replace(source, context_window=metadata.context_window, engine=TemplateEngine.LLAMA_CPP)
    if metadata.bos or metadata.eos:
        found = replace(found, bos=metadata.bos, eos=metadata.eos)
    return found


def from_props(props: Mapping[str, Any]) -> TemplateSource:
    """The template of a running llama.cpp server, from what it answers to `GET /props`. Raises TemplateError."""
    templates = {DEFAULT: props.get("chat_template"), TOOL_USE: props.get("chat_template_tool_use")}
    found = {name: text for name, text in templates.items() if isinstance(text, str) and text}
    source = _choose(found, "llama.cpp /props")
    settings = props.get("default_generation_settings")
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    return replace(
        source,
        bos=_mark(props.get("bos_token"), source.bos),
        eos=_mark(props.get("eos_token"), source.eos),
        context_window=window if isinstance(window, int) and 0 < window < 1_000_000_000 else 0,
        engine=TemplateEngine.LLAMA_CPP,
    )


def _from_json(content: bytes, origin: str) -> TemplateSource:
    try:
        table = msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise TemplateError(f"is no JSON object: {fault}", at=origin) from None
    templates = _templates(table.get("chat_template"))
    source = _choose(templates, origin)
    window = table.get("model_max_length")
    return replace(
        source,
        bos=_mark(table.get("bos_token"), source.bos),
        eos=_mark(table.get("eos_token"), source.eos),
        context_window=int(window) if isinstance(window, (int, float)) and 0 < window < 1e9 else 0,
    )


def _templates(value: Any) -> dict[str, str]:
    """One template as a text, or several with names."""
    if isinstance(value, str):
        return {DEFAULT: value}
    if isinstance(value, dict):
        return {str(key): text for key, text in value.items() if isinstance(text, str)}
    if not isinstance(value, list):
        return {}
    named = [entry for entry in value if isinstance(entry, dict) and isinstance(entry.get("template"), str)]
    return {str(entry.get("name", DEFAULT)): entry["template"] for entry in named}


def _choose(templates: Mapping[str, str], origin: str) -> TemplateSource:
    if not templates:
        raise TemplateError("has no chat template", at=origin, hint="give the template itself, as Jinja text")
    text = templates.get(DEFAULT) or next(iter(templates.values()))
    return replace(from_text(text, origin), tool_template=templates.get(TOOL_USE, ""))


def _mark(value: Any, otherwise: str) -> str:
    """A mark as a text, or as an object that holds it."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else otherwise
