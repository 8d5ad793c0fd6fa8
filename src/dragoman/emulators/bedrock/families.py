"""What the models behind Bedrock take, by the vendor in their names. Of an unknown one nothing is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.usage import CLAUDE, UnseenTokens


@dataclass(frozen=True, slots=True)
class BedrockFamily:
    """A vendor's models."""

    name: str
    tools: bool = True
    words_with_calls: bool = True
    """Whether text may stand beside calls or results in one turn."""
    streamed_tools: bool = True
    strict: bool = True
    caching: bool = True
    tool_caching: bool = True
    image: bool = True
    video: bool = True
    thoughts: bool = True
    """Whether thinking may stand in the history."""
    alternates: bool = False
    """Whether it wants turns in turn."""
    ends_with_user: bool = False
    """Whether it does not go on with a turn of its own."""
    stored: bool = True
    results: tuple[str, ...] = ("text", "json", "image", "document", "video", "searchResult")
    choices: tuple[str, ...] = ("auto", "any", "tool")
    stops: bool = True
    """Whether it takes stop sequences."""
    thinks_unsigned: bool = False
    """Whether its answers have thinking without a signature."""


UNKNOWN = BedrockFamily("")
_UNSEEN_RESULTS = ("text", "json", "document", "video", "searchResult")
"""What results hold of all but Claude, Nova and Llama 4 (https://github.com/anomalyco/opencode/issues/49443)."""
_LLAMA = BedrockFamily(
    "llama",
    words_with_calls=False,
    streamed_tools=False,
    strict=False,
    caching=False,
    thoughts=False,
    alternates=True,
    ends_with_user=True,
    choices=("auto",),
)
_MISTRAL = BedrockFamily(
    "mistral", caching=False, thoughts=False, alternates=True, choices=("auto", "any"), results=_UNSEEN_RESULTS
)
_OTHER = BedrockFamily("", thoughts=False, choices=("auto",), results=_UNSEEN_RESULTS)
_NOVA = BedrockFamily(
    "nova", strict=False, tool_caching=False, thoughts=False, results=("text", "json", "image", "searchResult")
)
_FAMILIES = {
    r"anthropic\.claude-(v2|instant)": BedrockFamily(
        "claude", tools=False, image=False, video=False, stored=False, caching=False
    ),
    r"anthropic\.claude": BedrockFamily("claude", video=False, stored=False),
    r"amazon\.nova-micro": replace(_NOVA, image=False, video=False),
    r"amazon\.nova": _NOVA,
    r"amazon\.titan": BedrockFamily("titan", tools=False, image=False, thoughts=False, caching=False),
    r"meta\.llama(3-2-(11|90)b|4)": _LLAMA,
    r"meta\.llama": replace(_LLAMA, image=False),
    r"mistral\.(mistral-(large-24|small-24|7b)|mixtral)": replace(_MISTRAL, image=False),
    r"mistral\.": _MISTRAL,
    r"deepseek\.": replace(_OTHER, name="deepseek", caching=False, image=False, alternates=True, thinks_unsigned=True),
    r"openai\.gpt-[5-9]": BedrockFamily("gpt", results=_UNSEEN_RESULTS),
    r"openai\.gpt-oss": replace(
        _OTHER,
        name="gpt-oss",
        stops=False,
        strict=False,
        caching=False,
        image=False,
        alternates=True,
        thinks_unsigned=True,
    ),
    r"qwen\.": replace(_OTHER, name="qwen", stops=False, caching=False),
    r"moonshot\.": replace(_OTHER, name="kimi", thinks_unsigned=True),
    r"(cohere\.command-r|ai21\.)": replace(_OTHER, name="text", caching=False, image=False, alternates=True),
}


def family_of(model: str) -> BedrockFamily:
    """The family of a model, in any spelling of its id: bare, with a region, or an ARN."""
    return next((family for pattern, family in _FAMILIES.items() if re.search(pattern, model)), UNKNOWN)


def unseen(request: ReceivedRequest) -> UnseenTokens:
    """What the service puts into a prompt of Claude's."""
    config = request.body.get("toolConfig")
    tools = request.body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    return CLAUDE.unseen(tools) if "claude" in request.model else UnseenTokens(0)
