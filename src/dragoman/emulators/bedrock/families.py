"""What the models behind Bedrock take, by the vendor in their names. Of an unknown one nothing is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BedrockFamily:
    """A vendor's models. `words_with_calls`: text beside calls or results in one turn. `thinks_unsigned`: its answers
    have thinking without a signature."""

    name: str
    tools: bool = True
    words_with_calls: bool = True
    streamed_tools: bool = True
    strict: bool = True
    caching: bool = True
    video: bool = True
    stored: bool = True
    results: tuple[str, ...] = ("text", "json", "image", "document", "video", "searchResult")
    choices: tuple[str, ...] = ("auto", "any", "tool")
    thinks_unsigned: bool = False


UNKNOWN = BedrockFamily("")
_FAMILIES = {
    r"anthropic\.claude-(v2|instant)": BedrockFamily("claude", tools=False, video=False, stored=False, caching=False),
    r"anthropic\.claude": BedrockFamily("claude", video=False, stored=False),
    r"amazon\.nova": BedrockFamily("nova", strict=False, results=("text", "json", "image", "searchResult")),
    r"amazon\.titan": BedrockFamily("titan", tools=False, caching=False),
    r"meta\.llama": BedrockFamily(
        "llama",
        words_with_calls=False,
        streamed_tools=False,
        strict=False,
        caching=False,
        choices=("auto",),
    ),
    r"mistral\.": BedrockFamily("mistral", caching=False, choices=("auto", "any")),
    r"deepseek\.": BedrockFamily("deepseek", caching=False, thinks_unsigned=True),
    r"openai\.gpt-oss": BedrockFamily("gpt-oss", strict=False, caching=False, thinks_unsigned=True),
    r"moonshot\.": BedrockFamily("kimi", thinks_unsigned=True),
}


def family_of(model: str) -> BedrockFamily:
    """The family of a model, in any spelling of its id: bare, with a region, or an ARN."""
    return next((family for pattern, family in _FAMILIES.items() if re.search(pattern, model)), UNKNOWN)
