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
from dragoman.emulators.joined_apis import JoinedApis
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, Model

_COMMON = ("strict", "models", "signatures", "window", "refuses")


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
    beside: tuple[str, str] | None = None
    """The module and the class of another API of this vendor behind the same address."""


_CHAT_OPTIONS = (
    *("provider", "extra_fields", "extra_message_fields", "alternation", "system_first"),
    *("reasoning_required", "empty_assistant", "error_shape", "done", "pairing", "reported", "roles"),
)
_TEMPLATE = ("template", "server", "vision")


def _compatible(provider: str, beside: tuple[str, str] | None = None) -> EmulatorEntry:
    return EmulatorEntry("chat.providers", preset={"provider": provider}, takes=_CHAT_OPTIONS, beside=beside)


def _template(server: str, template: str = "open") -> EmulatorEntry:
    return EmulatorEntry("chat.template_server", preset={"server": server, "template": template}, takes=_TEMPLATE)


_RESPONSES = ("openai_responses.emulator", "Responses")
_AZURE_RESPONSES = ("openai_responses.azure", "AzureResponses")
_XAI_RESPONSES = ("openai_responses.xai", "XaiResponses")

ENTRIES: Mapping[str, EmulatorEntry] = {
    "openai": EmulatorEntry("chat.openai.emulator", beside=_RESPONSES),
    "openai-responses": EmulatorEntry(*_RESPONSES),
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
    "azure-foundry": _compatible("azure-foundry"),
    "azure-openai": _compatible("azure-openai", beside=_AZURE_RESPONSES),
    "azure-openai-responses": EmulatorEntry(*_AZURE_RESPONSES),
    "xai": _compatible("xai", beside=_XAI_RESPONSES),
    "xai-responses": EmulatorEntry(*_XAI_RESPONSES),
    "openrouter": EmulatorEntry("chat.openrouter.emulator"),
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
        raise UnknownEmulatorError(f'no answers are called "{name}". {known_names(name, tuple(ANSWERS))}')
    module, function = ANSWERS[name]
    model: Model = getattr(import_module(f"dragoman.emulators.{module}"), function)
    return model


def names() -> tuple[str, ...]:
    """The names of all emulators, in the order of the table."""
    return tuple(ENTRIES)


def provider(name: str, **options: Any) -> EmulatedProvider:
    """The emulator of that name. Raises `UnknownEmulatorError` with a hint if the name or an option is unknown.

    `refuses` takes patterns for further bodies that it refuses, in words that nobody knows.
    """
    entry = ENTRIES.get(name)
    if entry is None:
        raise UnknownEmulatorError(f'no emulator is named "{name}". {known_names(name, names())}')
    _check_options(name, entry, options)
    common = {key: value for key, value in options.items() if key in _COMMON}
    for key in ("models", "refuses"):
        if common.get(key) is not None:
            common[key] = tuple(common[key])
    more = {**entry.preset, **{key: value for key, value in options.items() if key not in _COMMON}}
    emulated = _make(entry.module, entry.factory, EmulatorOptions(more=more, **common))
    if entry.beside is None:
        return emulated
    return JoinedApis(emulated, _make(*entry.beside, EmulatorOptions(**common)))


def _make(module: str, factory: str, options: EmulatorOptions) -> EmulatedProvider:
    made: EmulatedProvider = getattr(import_module(f"dragoman.emulators.{module}"), factory)(options)
    return made


def _check_options(name: str, entry: EmulatorEntry, options: Mapping[str, Any]) -> None:
    known = (*_COMMON, *entry.takes)
    for option in options:
        if option not in known:
            raise UnknownEmulatorError(f'emulator "{name}" has no option "{option}". {known_names(option, known)}')
    window = options.get("window", 0)
    if not isinstance(window, int) or window < 0:
        raise UnknownEmulatorError(f"window is a number of tokens, not {window!r}; 0 means any number")
