"""The whole validation of a Converse request: the service model, the conversation, the model's abilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

from dragoman.emulators.anthropic import judge as claude
from dragoman.emulators.anthropic.models import claude_model
from dragoman.emulators.anthropic.refusals import AnthropicRefusal
from dragoman.emulators.bedrock.claude_body import claude_body
from dragoman.emulators.bedrock.families import BedrockFamily, family_of
from dragoman.emulators.bedrock.refusals import WRAPPED, BedrockRefusal
from dragoman.emulators.bedrock.shapes import check_shape
from dragoman.emulators.provider import EmulatorOptions, Operation, ReceivedRequest

Block = dict[str, Any]
_MOST_DOCUMENTS, _MOST_IMAGES, _MOST_CACHE_POINTS = 5, 20, 4
_THOUGHT = "reasoningContent"
_USER_ONLY = ("image", "document", "video", "audio")


def check(request: ReceivedRequest, options: EmulatorOptions) -> None:
    """Raises the first `BedrockRefusal`, or returns if the request is valid."""
    body: dict[str, Any] = request.body
    if not options.knows(request.model):
        raise BedrockRefusal("The provided model identifier is invalid.")
    check_shape(body)
    family = family_of(request.model)
    messages = body.get("messages") or []
    _check_turns(messages, request.model)
    _check_alternation(messages, family)
    _check_texts(messages)
    _check_pairs(messages)
    _check_tools(body, messages, family, request)
    _check_media(messages, family)
    if not family.stops and (body.get("inferenceConfig") or {}).get("stopSequences"):
        raise BedrockRefusal("This model doesn't support the stopSequences field. Remove stopSequences and try again.")
    _check_caching(body, messages, family)
    if family.name == "claude":
        _check_claude(request, options)


def _check_turns(messages: list[Block], model: str) -> None:
    if not messages:
        raise BedrockRefusal("The messages field is required. Add messages to the request and try again.")
    for index, message in enumerate(messages):
        if not message["content"]:
            raise BedrockRefusal(
                f"The content field in the Message object at messages.{index} is empty. Add a ContentBlock object to "
                "the content field and try again."
            )
        if message["role"] == "system" and not claude_model(model).since(4, 8):
            raise BedrockRefusal(f"messages.{index}.role: this model doesn't support the system role in messages.")
    if messages[0]["role"] != "user" and not claude_model(model).since(4, 5):
        raise BedrockRefusal(
            "A conversation must start with a user message. Try again with a conversation that starts with a user "
            "message."
        )


def _check_alternation(messages: list[Block], family: BedrockFamily) -> None:
    if family.alternates and any(before["role"] == after["role"] for before, after in pairwise(messages)):
        raise BedrockRefusal(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates "
            "between user and assistant roles and try again."
        )
    if family.ends_with_user and messages[-1]["role"] != "user":
        raise BedrockRefusal(
            "The model that you are using requires the last turn in the conversation to be a user message. Add a user "
            "message to the conversation and try again."
        )


def _check_texts(messages: list[Block]) -> None:
    for index, message in enumerate(messages):
        _check_blank(message["content"], f"messages.{index}.content")
        for at, block in enumerate(message["content"]):
            if "toolResult" in block:
                inner = f"messages.{index}.content.{at}.toolResult.content"
                _check_blank(block["toolResult"]["content"], inner)


def _check_blank(blocks: list[Block], at: str) -> None:
    """Empty text is refused everywhere, white space if it is all that a turn or a result says."""
    alone = all("text" in block and not block["text"].strip() for block in blocks)
    for index, block in enumerate(blocks):
        if "text" in block and (not block["text"] or alone):
            raise BedrockRefusal(
                f"The text field in the ContentBlock object at {at}.{index} is blank. Add text to the text field, and "
                "try again."
            )


def _turns(messages: list[Block]) -> Iterator[tuple[str, int, list[Block]]]:
    """Neighbouring messages of one role as one turn: role, index of the first, blocks."""
    for role, group in groupby(enumerate(messages), key=lambda pair: pair[1]["role"]):
        members = list(group)
        yield role, members[0][0], [block for _, message in members for block in message["content"]]


def _ids(blocks: list[Block], kind: str) -> list[str]:
    """The ids of ordinary calls or results. Tools that Bedrock itself runs have theirs in one turn."""
    types = (None, "tool_use")
    return [block[kind]["toolUseId"] for block in blocks if kind in block and block[kind].get("type") in types]


def _check_pairs(messages: list[Block]) -> None:
    turns = [turn for turn in _turns(messages) if turn[0] != "system"]
    for position, (role, first, blocks) in enumerate(turns):
        if role == "assistant":
            following = turns[position + 1] if position + 1 < len(turns) else ("", len(messages), [])
            _check_answered(_ids(blocks, "toolUse"), _ids(following[2], "toolResult"), following[1])
        else:
            calls = _ids(turns[position - 1][2], "toolUse") if position else []
            results = _ids(blocks, "toolResult")
            if len(results) > len(calls) or set(results) - set(calls):
                raise BedrockRefusal(
                    f"The number of toolResult blocks at messages.{first}.content exceeds the number of toolUse blocks "
                    "of previous turn."
                )


def _check_answered(calls: list[str], results: list[str], at: int) -> None:
    if len(set(calls)) < len(calls):
        raise BedrockRefusal(
            f"The toolUse blocks at messages.{at - 1}.content contain duplicate Ids: {', '.join(calls)}"
        )
    missing = [call for call in calls if call not in results]
    if missing:
        raise BedrockRefusal(
            f"Expected toolResult blocks at messages.{at}.content for the following Ids: {', '.join(missing)}"
        )


def _check_tools(body: Block, messages: list[Block], family: BedrockFamily, request: ReceivedRequest) -> None:
    config = body.get("toolConfig") or {}
    used = any("toolUse" in block or "toolResult" in block for message in messages for block in message["content"])
    if used and not config:
        raise BedrockRefusal("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    if not config:
        return
    if not family.tools:
        raise BedrockRefusal("This model doesn't support tool use.")
    if request.operation is Operation.STREAM and not family.streamed_tools:
        raise BedrockRefusal("This model doesn't support tool use in streaming mode.")
    choice = next(iter(config.get("toolChoice") or {}), None)
    if choice is not None and choice not in family.choices:
        raise BedrockRefusal(
            f"This model doesn't support the toolConfig.toolChoice.{choice} field. Remove "
            f"toolConfig.toolChoice.{choice} and try again."
        )
    if not family.strict and any("strict" in tool.get("toolSpec", {}) for tool in config["tools"]):
        raise BedrockRefusal("This model doesn't support the strict field. Remove strict and try again.")
    if not family.words_with_calls:
        _check_apart(messages)


def _check_apart(messages: list[Block]) -> None:
    for index, message in enumerate(messages):
        kinds = {next(iter(block)) for block in message["content"]}
        words = kinds - {"toolUse", "toolResult", "reasoningContent", "cachePoint"}
        if words and "toolUse" in kinds:
            raise BedrockRefusal(
                f"messages.{index}.content: Conversation blocks and tool use blocks cannot be provided in the same "
                "turn."
            )
        if words and "toolResult" in kinds:
            raise BedrockRefusal(
                f"messages.{index}.content: Conversation blocks and tool result blocks cannot be provided in the same "
                "turn."
            )


def _check_media(messages: list[Block], family: BedrockFamily) -> None:
    blocks = [
        (message["role"], f"messages.{turn}.content.{index}", block)
        for turn, message in enumerate(messages)
        for index, block in enumerate(message["content"])
    ]
    for role, place, block in blocks:
        kind = next(iter(block))
        if kind in _USER_ONLY and role != "user":
            raise BedrockRefusal(f"The {kind} content block is not supported in {role} messages.")
        inner = block["toolResult"]["content"] if kind == "toolResult" else [block]
        for one in inner:
            _check_medium(one, family, place, inside=kind == "toolResult")
        if kind == "toolResult" and "image" not in family.results and any("image" in one for one in inner):
            raise BedrockRefusal(
                "This model doesn't support the image field for user messages. Remove image and try again."
            )
        if kind == "toolResult" and any(next(iter(one)) not in family.results for one in inner):
            raise BedrockRefusal(
                f"{WRAPPED}Malformed input request: #/{place.replace('.', '/')}: extraneous key [toolResult] is not "
                "permitted, please reformat your input and try again."
            )
    if any(_lacks_text(message["content"]) for message in messages):
        raise BedrockRefusal("A text block must be included when using documents.")
    names = [document["name"] for _, _, block in blocks for document in _documents_of(block)]
    if len(set(names)) < len(names):
        raise BedrockRefusal(
            "Messages can't contain duplicate document names. Rename the document and retry your request."
        )
    if sum("document" in block for _, _, block in blocks) > _MOST_DOCUMENTS:
        raise BedrockRefusal(f"You can't include more than {_MOST_DOCUMENTS} documents in a request.")
    if sum("image" in block for _, _, block in blocks) > _MOST_IMAGES and family.name != "claude":
        raise BedrockRefusal("You provided too many images. The maximum number of images is 20.")


def _documents_of(block: Block) -> list[Block]:
    inner = block["toolResult"]["content"] if "toolResult" in block else [block]
    return [one["document"] for one in inner if "document" in one]


def _lacks_text(content: list[Block]) -> bool:
    return any("document" in block for block in content) and not any("text" in block for block in content)


def _check_medium(block: Block, family: BedrockFamily, place: str, inside: bool) -> None:
    """A document of S3 inside a result is taken by Claude, and not read (recorded)."""
    kind, content = next(iter(block.items()))
    unseen = kind == "image" and not family.image
    if unseen or (kind in ("video", "audio") and not family.video) or (kind == _THOUGHT and not family.thoughts):
        raise BedrockRefusal(
            f"This model doesn't support the {kind} content block that you provided. Update the content block and try "
            "again."
        )
    if kind not in _USER_ONLY or "s3Location" not in content["source"] or family.stored:
        return
    if kind == "document" and not inside:
        raise BedrockRefusal(f"{WRAPPED}{place}.document.source.type: Field required")
    if kind != "document":
        raise BedrockRefusal("This model doesn't support the s3Uri field. Remove s3Uri and try again.")


def _check_caching(body: Block, messages: list[Block], family: BedrockFamily) -> None:
    places = [*(body.get("system") or []), *((body.get("toolConfig") or {}).get("tools") or [])]
    places += [block for message in messages for block in message["content"]]
    count = sum("cachePoint" in block for block in places)
    if count and not family.caching:
        raise BedrockRefusal(
            "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for "
            "more information.",
            403,
            "AccessDeniedException",
        )
    tools = (body.get("toolConfig") or {}).get("tools") or []
    at = next((at for at, tool in enumerate(tools) if "cachePoint" in tool), None)
    if at is not None and not family.tool_caching:
        raise BedrockRefusal(
            f"{WRAPPED}Malformed input request: #/toolConfig/tools/{at}: extraneous key [cachePoint] is not permitted, "
            "please reformat your input and try again."
        )
    if family.name == "claude":
        _check_cache_places(messages)
    if count > _MOST_CACHE_POINTS:
        raise BedrockRefusal(f"{WRAPPED}A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _check_cache_places(messages: list[Block]) -> None:
    """A cache point caches what stands before it in its turn: not thinking, nor a document that is read as text."""
    for turn, message in enumerate(messages):
        for at, block in enumerate(message["content"]):
            if "cachePoint" not in block:
                continue
            before = message["content"][at - 1] if at else {}
            if "reasoningContent" in before:
                raise BedrockRefusal(
                    "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and "
                    "try again."
                )
            if not before:
                raise BedrockRefusal(
                    "There is nothing available to cache. Please remove the invalid cache point and try again."
                )
            if "document" in before and before["document"].get("format", "pdf") != "pdf":
                raise BedrockRefusal(f"{WRAPPED}messages.{turn}.content.{at}.type: Field required")


def _check_claude(request: ReceivedRequest, options: EmulatorOptions) -> None:
    """Claude itself judges what Bedrock passes on, and Bedrock wraps its words."""
    passed = replace(request, body=claude_body(request.body, request.model), operation=Operation.GENERATE)
    try:
        claude.check(passed, options)
    except AnthropicRefusal as refusal:
        raise BedrockRefusal(WRAPPED + refusal.message) from None
