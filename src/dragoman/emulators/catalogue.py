"""All emulators by name: the table behind `dragoman emulate` and `dragoman.testing`.

Each name stands for a module, a class or a function in it, and preset options. Modules are imported on first use, so
that a test of one provider loads only that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from dragoman.emulators.faults import known_names
from dragoman.emulators.further_refusals import FurtherRefusals
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, Model

_COMMON = ("strict", "models", "signatures", "window")
_ALL = (*_COMMON, "refuses")


class UnknownEmulatorError(ValueError):
    """The name of an emulator or of its option is unknown."""


@dataclass(frozen=True, slots=True)
class EmulatorEntry:
    """Where an emulator is, and how it is made."""

    module: str
    """The module that has it."""
    factory: str = "provider"
    """Its class, or a function that makes it, by name."""
    preset: Mapping[str, Any] = field(default_factory=dict)
    """Options that it always gets."""
    takes: tuple[str, ...] = ()
    """Options that a user may give."""


_CHAT_OPTIONS = (
    *("provider", "extra_fields", "extra_message_fields", "alternation", "system_first"),
    *("reasoning_required", "empty_assistant", "error_shape", "done", "pairing", "roles"),
)
_TEMPLATE = ("template", "server", "vision")


def _compatible(provider: str) -> EmulatorEntry:
    return EmulatorEntry("chat.compatible", preset={"provider": provider}, takes=_CHAT_OPTIONS)


def _template(server: str, template: str = "open") -> EmulatorEntry:
    return EmulatorEntry("chat.template_server", preset={"server": server, "template": template}, takes=_TEMPLATE)


ENTRIES: Mapping[str, EmulatorEntry] = {
    "openai": EmulatorEntry("chat.openai.emulator"),
    "openai-responses": EmulatorEntry("openai_responses.emulator", "Responses"),
    "anthropic": EmulatorEntry("anthropic.emulator", "Anthropic"),
    "gemini": EmulatorEntry("gemini.emulator", "Gemini"),
    "cohere": EmulatorEntry("cohere.emulator", "CohereApi"),
    "bedrock": EmulatorEntry("bedrock.emulator", "Bedrock"),
    "bedrock-anthropic": EmulatorEntry("bedrock.emulator", "Bedrock"),
    "vertex": EmulatorEntry("gemini.emulator", "Vertex"),
    "vertex-anthropic": EmulatorEntry("anthropic.vertex", "VertexClaude"),
    "anthropic-compatible": EmulatorEntry("anthropic.compatible", "CompatibleAnthropic"),
    "gemini-native-compatible": EmulatorEntry("gemini.compatible", "CompatibleGemini"),
    "azure-anthropic": EmulatorEntry("anthropic.foundry", "FoundryClaude"),
    "azure-foundry": EmulatorEntry("chat.azure", "foundry", takes=_CHAT_OPTIONS),
    "azure-openai": EmulatorEntry("chat.azure", "chat", takes=_CHAT_OPTIONS),
    "azure-openai-responses": EmulatorEntry("chat.azure", "AzureResponses"),
    "xai": EmulatorEntry("openai_responses.xai", "chat", {"provider": "xai"}, _CHAT_OPTIONS),
    "xai-responses": EmulatorEntry("openai_responses.xai", "XaiResponses"),
    "openrouter": EmulatorEntry("chat.openrouter"),
    "mistral": EmulatorEntry("chat.mistral"),
    "deepseek": EmulatorEntry("chat.deepseek"),
    "groq": EmulatorEntry("chat.groq"),
    "compatible": _compatible("compatible"),
    "compatible-lenient": _compatible("lenient"),
    **{
        name: _compatible(name)
        for name in (
            *("cerebras", "cohere-openai", "fireworks", "gemini-openai"),
            *("minimax", "moonshot", "perplexity", "qwen", "together", "zai"),
        )
    },
    "template": _template("plain", "system-first"),
    "llamacpp": _template("llamacpp"),
    "vllm": _template("vllm"),
    "sglang": _template("sglang"),
    "ollama": EmulatorEntry("ollama.emulator", "Ollama"),
    "ollama-openai": _template("ollama-openai"),
    "lmstudio": _template("lmstudio"),
}


ANSWERS: Mapping[str, tuple[str, str]] = {
    "plausible": ("plausible.model", "answer_plausibly"),
    "echo": ("echo_answer", "echo"),
}
"""What answers when no script does, by its name: a module and a function in it."""


def answering(name: str) -> Model:
    """The model of that name. Raises `UnknownEmulatorError` if there is none."""
    if name not in ANSWERS:
        raise UnknownEmulatorError(f'no answers are called "{name}"; {known_names(name, tuple(ANSWERS))}')
    module, function = ANSWERS[name]
    model: Model = getattr(import_module(f"dragoman.emulators.{module}"), function)
    return model


def names() -> tuple[str, ...]:
    """The names of all emulators, in the order of the table."""
    return tuple(ENTRIES)


def provider(name: str, **options: Any) -> EmulatedProvider:
    """The emulator of that name. Raises `UnknownEmulatorError` with a hint if the name or an option is unknown.

    `refuses` takes patterns for further bodies that it refuses, in words that nobody knows (`further_refusals.py`).
    """
    entry = ENTRIES.get(name)
    if entry is None:
        raise UnknownEmulatorError(f'no emulator is named "{name}"; {known_names(name, names())}')
    _check_options(name, entry, options)
    common = {key: value for key, value in options.items() if key in _COMMON}
    if common.get("models") is not None:
        common["models"] = tuple(common["models"])
    more = {**entry.preset, **{key: value for key, value in options.items() if key not in _ALL}}
    factory = getattr(import_module(f"dragoman.emulators.{entry.module}"), entry.factory)
    emulated: EmulatedProvider = factory(EmulatorOptions(more=more, **common))
    return FurtherRefusals(emulated, options["refuses"]) if options.get("refuses") else emulated


def _check_options(name: str, entry: EmulatorEntry, options: Mapping[str, Any]) -> None:
    known = (*_ALL, *entry.takes)
    for option in options:
        if option not in known:
            raise UnknownEmulatorError(f'emulator "{name}" has no option "{option}"; {known_names(option, known)}')
    window = options.get("window", 0)
    if not isinstance(window, int) or window < 0:
        raise UnknownEmulatorError(f"window is a number of tokens, not {window!r}; 0 means any number")
