"""Local servers that render the model's chat template, and refuse what the template refuses.

Any Jinja template works, also one from a model's files. It gets the messages as the client sent them, and two
additions for the templates shipped here: `parts` (the texts of the content) and `calls` (name and arguments).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dragoman.emulators.chat.local_servers import SERVERS, WITHOUT_VISION
from dragoman.emulators.chat.service import ChatRefusal, Check
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, ReceivedRequest
from dragoman.emulators.wire import render_json

SHIPPED = Path(__file__).with_name("templates")


class BadTemplateError(ValueError):
    """The template cannot be found or is not Jinja."""


def template_source(name_or_path: str) -> str:
    """The text of a template: a shipped one by name, a file, or the text itself."""
    if "{%" in name_or_path or "{{" in name_or_path:
        return name_or_path
    for path in (SHIPPED / f"{name_or_path}.jinja", Path(name_or_path)):
        if path.is_file():
            return path.read_text()
    known = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.jinja")))
    raise BadTemplateError(
        f'no chat template "{name_or_path}"; give a file, the text of a template, or one of: {known}'
    )


def _raise_exception(sentence: str) -> None:
    raise TemplateError(sentence)


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"]
    )
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: "2026-01-01"
    environment.filters["tojson"] = lambda value, **_: render_json(value).decode()
    return environment


def template_check(text: str) -> Check:
    """The check that renders the template."""
    try:
        template = _environment().from_string(text)
    except TemplateError as error:
        raise BadTemplateError(f"the chat template is not Jinja: {error}") from error

    def check(request: ReceivedRequest) -> None:
        try:
            template.render(
                messages=[_with_parts_and_calls(message) for message in request.body["messages"]],
                tools=request.body.get("tools"),
                add_generation_prompt=True,
                bos_token="<s>",  # noqa: S106 - marks the start of a prompt, not a secret
                eos_token="</s>",  # noqa: S106
            )
        except TemplateError as error:
            raise ChatRefusal(400, str(error)) from None
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ChatRefusal(400, f"{type(error).__name__}: {error}") from None

    return check


def _with_parts_and_calls(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "parts": _texts(message.get("content")), "calls": _calls(message.get("tool_calls"))}


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [str(part.get("text") or f"<{part.get('type')}>") for part in parts if isinstance(part, dict)]


def _calls(calls: Any) -> list[dict[str, Any]]:
    tool_calls = calls if isinstance(calls, list) else []
    functions = [call.get("function") for call in tool_calls if isinstance(call, dict)]
    return [{"name": one.get("name"), "arguments": one.get("arguments")} for one in functions if isinstance(one, dict)]


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of a local server with the template that the options name."""
    name = options.more.get("server", "plain")
    checks = SERVERS[name].checks
    if not options.more.get("vision", True) and name in WITHOUT_VISION:
        checks = (*checks, WITHOUT_VISION[name])
    chosen = template_source(str(options.more.get("template", "system-first")))
    return replace(
        SERVERS[name],
        name="template" if name == "plain" else name,
        options=options,
        checks=(*checks, template_check(chosen)),
    )
