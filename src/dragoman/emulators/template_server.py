"""Local servers that run the model's chat template, and refuse what the template refuses.

Any Jinja template will do, one from a model's own files too. Messages reach it as the client sent them, with two
conveniences for templates written here: `parts` (the texts of the content) and `calls` (name and arguments).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dragoman.emulators.chat_service import Chat, Check, Complaint
from dragoman.emulators.local_servers import SERVERS
from dragoman.emulators.provider import Options, Provider, Received
from dragoman.emulators.wire import compact

SHIPPED = Path(__file__).with_name("templates")


class BadTemplateError(ValueError):
    """The template cannot be found or is no Jinja."""


def source(name_or_path: str) -> str:
    """The text of a shipped template, of a file, or the text itself if it is one."""
    if "{%" in name_or_path or "{{" in name_or_path:
        return name_or_path
    for path in (SHIPPED / f"{name_or_path}.jinja", Path(name_or_path)):
        if path.is_file():
            return path.read_text()
    known = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.jinja")))
    raise BadTemplateError(
        f'no chat template "{name_or_path}"; give a file, the text of a template, or one of: {known}'
    )


def _raise_exception(words: str) -> None:
    raise TemplateError(words)


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"]
    )
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = lambda form: "2026-01-01"
    made.filters["tojson"] = lambda value, **_: compact(value).decode()
    return made


def renders(text: str) -> Check:
    """The check that runs the template."""
    try:
        template = _environment().from_string(text)
    except TemplateError as error:
        raise BadTemplateError(f"the chat template is no Jinja: {error}") from error

    def check(call: Received) -> Complaint | None:
        try:
            template.render(
                messages=[_readable(message) for message in call.body["messages"]],
                tools=call.body.get("tools"),
                add_generation_prompt=True,
                bos_token="<s>",  # noqa: S106 - the beginning of a prompt, no secret
                eos_token="</s>",  # noqa: S106
            )
        except TemplateError as error:
            return Complaint(400, str(error))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            return Complaint(400, f"{type(error).__name__}: {error}")
        return None

    return check


def _readable(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "parts": _texts(message.get("content")), "calls": _calls(message.get("tool_calls"))}


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [str(part.get("text") or f"<{part.get('type')}>") for part in parts if isinstance(part, dict)]


def _calls(calls: Any) -> list[dict[str, Any]]:
    made = calls if isinstance(calls, list) else []
    functions = [call.get("function") for call in made if isinstance(call, dict)]
    return [{"name": one.get("name"), "arguments": one.get("arguments")} for one in functions if isinstance(one, dict)]


def provider(options: Options) -> Provider:
    """The emulator of a local server with the template that the options name."""
    server = SERVERS[options.more.get("server", "plain")]
    chosen = source(str(options.more.get("template", "system-first")))
    name = options.more.get("server", "plain")
    return Chat(
        name="template" if name == "plain" else name,
        options=options,
        checks=(*server.checks(bool(options.more.get("vision", True))), renders(chosen)),
        voice=server.voice,
        shape=server.shape,
        faults=server.faults,
        not_json=server.not_json,
        example_model=server.model,
    )
