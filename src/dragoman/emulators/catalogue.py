"""Every emulator by name: the table behind `dragoman emulate` and `dragoman.testing`.

A name leads to a module and a factory in it, with preset options. Modules load when asked for, so that a test which
wants one provider pays for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from dragoman.emulators.provider import Options, Provider

_COMMON = ("strict", "models", "signatures")


class UnknownEmulatorError(ValueError):
    """No emulator of that name, or an option it does not know."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where an emulator lives, what is preset, and which options of its own it takes."""

    module: str
    factory: str = "provider"
    preset: Mapping[str, Any] = field(default_factory=dict)
    takes: tuple[str, ...] = ()


_MANNERS = (
    "manner",
    "extra_fields",
    "extra_message_fields",
    "alternation",
    "system_first",
    "reasoning_required",
    "empty_assistant",
    "error_shape",
    "done",
    "pairing",
    "roles",
)
_TEMPLATE = ("template", "server", "vision")


def _compatible(manner: str) -> Entry:
    return Entry("compatible", preset={"manner": manner}, takes=_MANNERS)


def _template(server: str, template: str = "open") -> Entry:
    return Entry("template_server", preset={"server": server, "template": template}, takes=_TEMPLATE)


ENTRIES: Mapping[str, Entry] = {
    "openai": Entry("openai"),
    "openai-responses": Entry("responses"),
    "anthropic": Entry("anthropic"),
    "gemini": Entry("gemini"),
    "vertex": Entry("gemini", "vertex"),
    "openrouter": Entry("openrouter"),
    "mistral": Entry("mistral"),
    "deepseek": Entry("deepseek"),
    "groq": Entry("groq"),
    "compatible": _compatible("compatible"),
    "compatible-lenient": _compatible("lenient"),
    **{
        name: _compatible(name)
        for name in (
            "azure-openai",
            "cerebras",
            "cohere",
            "fireworks",
            "gemini-openai",
            "minimax",
            "moonshot",
            "perplexity",
            "qwen",
            "together",
            "xai",
            "zai",
        )
    },
    "template": _template("plain", "system-first"),
    "llamacpp": _template("llamacpp"),
    "vllm": _template("vllm"),
    "sglang": _template("sglang"),
    "ollama": _template("ollama"),
    "lmstudio": _template("lmstudio"),
}


def names() -> tuple[str, ...]:
    """The names of all emulators, in the order of the table."""
    return tuple(ENTRIES)


def provider(name: str, **options: Any) -> Provider:
    """The emulator of that name, set up. Raises `UnknownEmulatorError` with a hint where name or option is unknown."""
    entry = ENTRIES.get(name)
    if entry is None:
        raise UnknownEmulatorError(f'no emulator is named "{name}"; {_hint(name, names())}')
    _check_options(name, entry, options)
    common = {key: value for key, value in options.items() if key in _COMMON}
    if common.get("models") is not None:
        common["models"] = tuple(common["models"])
    more = {**entry.preset, **{key: value for key, value in options.items() if key not in _COMMON}}
    factory = getattr(import_module(f"dragoman.emulators.{entry.module}"), entry.factory)
    made: Provider = factory(Options(more=more, **common))
    return made


def _check_options(name: str, entry: Entry, options: Mapping[str, Any]) -> None:
    known = (*_COMMON, *entry.takes)
    for option in options:
        if option not in known:
            raise UnknownEmulatorError(f'emulator "{name}" has no option "{option}"; {_hint(option, known)}')


def _hint(word: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"known: {', '.join(known)}." + (f' Did you mean "{near[0]}"?' if near else "")
