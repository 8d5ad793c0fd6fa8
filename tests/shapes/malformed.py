"""Malformed requests: well-formed conversations of every dialect with one thing written as no schema has it.

Most of these are meant clearly: a part in another dialect's form, an object for JSON text, a missing type. What the
conversation says (its texts, calls and results) has unmistakable words, so that one can look for them in any output.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
from tests.shapes.chooser import Chooser
from tests.shapes.words import PIXEL

Wire = dict[str, Any]
Mutate = Callable[[Wire], None]

ASKED, SEARCHED, FOUND, THANKS, RULES = "zebra-asks", "zebra-city", "zebra-found", "zebra-thanks", "zebra-rules"
TOOL_NAME = "get_weather"
SCHEMA: Wire = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PICTURE = "https://example.com/zebra.png"


class Mutation(msgspec.Struct, frozen=True):
    """One way to spoil a request in place. `meant`: what is meant is clear, so it may not be refused.

    `loses`: words of the conversation that the mutation itself takes away. `adds`: words that it brings along.
    """

    name: str
    dialect: str
    change: Mutate
    meant: bool = True
    loses: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()


class MalformedRequest(msgspec.Struct, frozen=True):
    """A spoiled request and the words that an output of it must hold."""

    body: Wire
    words: tuple[str, ...]


def malformed(mutation: Mutation, pick: Chooser) -> MalformedRequest:
    """A well-formed conversation of the mutation's dialect, spoiled."""
    body = copy.deepcopy(BASES[mutation.dialect](pick))
    mutation.change(body)
    words = [word for word in (ASKED, SEARCHED, FOUND, THANKS) if word not in mutation.loses]
    return MalformedRequest(body, (*words, *mutation.adds))


def chat(pick: Chooser) -> Wire:
    call = {"id": "call_1", "type": "function", "function": _named(arguments='{"city":"' + SEARCHED + '"}')}
    messages: list[Wire] = [{"role": "system", "content": RULES}] if pick.often() else []
    messages += [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": FOUND},
        {"role": "user", "content": THANKS},
    ]
    function = _named(description="Tells it.", parameters=SCHEMA)
    settings = {"temperature": 0.5} if pick.often() else {}
    return {"model": "m", "messages": messages, "tools": [{"type": "function", "function": function}], **settings}


def _named(**more: Any) -> Wire:
    return {"name": TOOL_NAME, **more}


def claude(pick: Chooser) -> Wire:
    use = {"type": "tool_use", "id": "toolu_1", "name": TOOL_NAME, "input": {"city": SEARCHED}}
    messages: list[Wire] = [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": FOUND}]},
        {"role": "assistant", "content": "OK"},
        {"role": "user", "content": THANKS},
    ]
    tool = _named(description="Tells it.", input_schema=SCHEMA)
    system = {"system": RULES} if pick.often() else {}
    return {"model": "m", "max_tokens": 4000, "messages": messages, "tools": [tool], **system}


def gemini(pick: Chooser) -> Wire:
    contents: list[Wire] = [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"functionCall": _named(args={"city": SEARCHED})}]},
        {"role": "user", "parts": [{"functionResponse": _named(response={"output": FOUND})}]},
        {"role": "model", "parts": [{"text": "OK"}]},
        {"role": "user", "parts": [{"text": THANKS}]},
    ]
    declared = _named(
        description="Tells it.", parameters={"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
    )
    system = {"systemInstruction": {"parts": [{"text": RULES}]}} if pick.often() else {}
    return {"contents": contents, "tools": [{"functionDeclarations": [declared]}], **system}


def responses(pick: Chooser) -> Wire:
    items: list[Wire] = [
        {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "function_call", "call_id": "call_1", "name": TOOL_NAME, "arguments": '{"city":"' + SEARCHED + '"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": FOUND},
        {"role": "user", "content": THANKS},
    ]
    tool = {"type": "function", **_named(description="Tells it.", parameters=SCHEMA, strict=False)}
    system = {"instructions": RULES} if pick.often() else {}
    return {"model": "m", "input": items, "tools": [tool], **system}


BASES: dict[str, Callable[[Chooser], Wire]] = {
    "openai-chat": chat,
    "anthropic": claude,
    "gemini": gemini,
    "openai-responses": responses,
}


# How mutations find their way: from the end, since a system message may come first.
def _asking(body: Wire) -> Wire:
    message: Wire = body["messages"][-4] if "tool_calls" in body["messages"][-3] else body["messages"][-5]
    return message


def _calling(body: Wire) -> Wire:
    message: Wire = body["messages"][-3]
    return message


def _result(body: Wire) -> Wire:
    message: Wire = body["messages"][-2]
    return message


def _call(body: Wire) -> Wire:
    call: Wire = _calling(body)["tool_calls"][0]
    return call


def _tool(body: Wire) -> Wire:
    function: Wire = body["tools"][0]["function"]
    return function


def _part(body: Wire) -> Wire:
    part: Wire = _asking(body)["content"][0]
    return part


def _put(find: Callable[[Wire], Wire], **members: Any) -> Mutate:
    """Set members of a node."""

    def change(body: Wire) -> None:
        find(body).update(copy.deepcopy(members))

    return change


def _drop(find: Callable[[Wire], Wire], *names: str) -> Mutate:
    """Remove members of a node."""

    def change(body: Wire) -> None:
        for name in names:
            del find(body)[name]

    return change


def _become(find: Callable[[Wire], Wire], **members: Any) -> Mutate:
    """Replace all members of a node."""

    def change(body: Wire) -> None:
        node = find(body)
        node.clear()
        node.update(copy.deepcopy(members))

    return change


def _all(*changes: Mutate) -> Mutate:
    def change(body: Wire) -> None:
        for one in changes:
            one(body)

    return change


def _add_parts(*parts: Any) -> Mutate:
    """More parts in the first question of a Chat or Anthropic request."""

    def change(body: Wire) -> None:
        _asking(body)["content"].extend(copy.deepcopy(parts))

    return change


def _root(body: Wire) -> Wire:
    return body


def _mutations(dialect: str, meant: bool, **changes: Mutate) -> tuple[Mutation, ...]:
    return tuple(Mutation(name.replace("_", "-"), dialect, change, meant) for name, change in changes.items())


_CHAT_TOOL: Wire = {"type": "function", "function": _named(description="Tells it.", parameters=SCHEMA)}
_CLAUDE_TOOL: Wire = _named(description="Tells it.", input_schema=SCHEMA)
_GEMINI_TOOL: Wire = {"functionDeclarations": [_named(description="Tells it.", parameters=SCHEMA)]}
_FLAT_TOOL: Wire = {"type": "function", **_named(description="Tells it.", parameters=SCHEMA)}
_BARE_TOOL: Wire = _named(description="Tells it.", parameters=SCHEMA)
_BLOCK_IMAGE: Wire = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
_USE: Wire = {"type": "tool_use", "id": "call_1", "name": TOOL_NAME, "input": {"city": SEARCHED}}
_RESULT_BLOCK: Wire = {"type": "tool_result", "tool_use_id": "call_1", "content": FOUND}

CHAT = (
    *_mutations(
        "openai-chat",
        True,
        arguments_as_object=_put(lambda body: _call(body)["function"], arguments={"city": SEARCHED}),
        call_without_type=_drop(_call, "type"),
        call_and_result_without_ids=_all(_drop(_call, "id"), _drop(_result, "tool_call_id")),
        call_and_result_with_empty_ids=_all(_put(_call, id=""), _put(_result, tool_call_id="")),
        call_and_result_with_null_ids=_all(_put(_call, id=None), _put(_result, tool_call_id=None)),
        result_without_id=_drop(_result, "tool_call_id"),
        call_with_index=_put(_call, index=0),
        part_without_type=_drop(_part, "type"),
        part_of_responses=_put(_part, type="input_text"),
        part_of_gemini=_become(_part, text=ASKED, thought=False),
        output_text=_all(
            _put(lambda body: body["messages"][-1], content=[{"type": "text", "text": THANKS}]),
            lambda body: body["messages"].insert(
                -1, {"role": "assistant", "content": [{"type": "output_text", "text": "OK", "annotations": []}]}
            ),
        ),
        image_of_responses=_add_parts({"type": "input_image", "image_url": PICTURE}),
        image_of_claude=_add_parts(_BLOCK_IMAGE),
        calls_of_claude=_all(
            _become(_calling, role="assistant", content=[_USE]),
            _become(_result, role="user", content=[_RESULT_BLOCK]),
        ),
        calls_of_gemini=_become(
            _calling, role="assistant", content=[{"functionCall": _named(args={"city": SEARCHED})}]
        ),
        content_as_object=_put(_asking, content={"type": "text", "text": ASKED}),
        content_as_texts=_put(_asking, content=["Well,", ASKED]),
        content_as_parts=_become(_asking, role="user", parts=[{"text": ASKED}]),
        content_as_blocks=_become(_asking, role="user", blocks=[{"block_type": "text", "text": ASKED}]),
        content_of_langchain=_become(
            _asking, lc=1, type="constructor", id=["langchain", "schema", "HumanMessage"], kwargs={"content": ASKED}
        ),
        text_as_data=_become(_part, type="text", data=ASKED),
        result_of_langchain=_become(_result, type="tool", content=FOUND, tool_call_id="call_1", status="success"),
        tools_null=_put(_root, tools=None),
        tools_empty=_put(_root, tools=[], tool_choice="auto"),
        choice_without_tools=_all(_drop(_root, "tools"), _put(_root, tool_choice="auto")),
        parameters_null=_put(_tool, parameters=None),
        parameters_without_type=_put(_tool, parameters={"properties": SCHEMA["properties"]}),
        required_in_a_property=_put(
            _tool, parameters={"type": "object", "properties": {"city": {"type": "string", "required": True}}}
        ),
        nameless_tool=lambda body: body["tools"].append({"type": "function", "function": {"description": "x"}}),
        unknown_message_fields=_put(_asking, done=True, foo="bar", metadata={"a": 1}),
        unknown_part_fields=_put(_part, index=0, mood="good"),
        unknown_tool_fields=lambda body: body["tools"][0].update(index=0, cache_control={"type": "ephemeral"}),
        null_optionals=_all(
            _put(_asking, name=None),
            _put(_calling, refusal=None, audio=None, function_call=None),
            _put(_root, stop=None),
        ),
        result_as_object=_put(_result, content={"temperature": FOUND}),
        result_as_objects=_put(_result, content=[{"temperature": FOUND}]),
        limit_as_text=_put(_root, max_tokens="100"),
        no_limit=_put(_root, max_tokens=-1),
        stop_empty=_put(_root, stop=[]),
        choice_any=_put(_root, tool_choice="any"),
        choice_of_claude=_put(_root, tool_choice={"type": "tool", "name": TOOL_NAME}),
        choice_of_responses=_put(_root, tool_choice={"type": "function", "name": TOOL_NAME}),
        role_in_capitals=_put(_asking, role="User"),
        role_human=_put(_asking, role="human"),
        role_model=_put(_calling, role="model"),
        no_role=_drop(_asking, "role"),
        system_at_the_top=_put(_root, system=RULES),
        vendor_settings=_put(
            _root,
            provider={"order": ["x"]},
            usage={"include": True},
            safe_prompt=True,
            chat_template_kwargs={"a": 1},
            enable_thinking=True,
        ),
        vendor_history=_put(
            _calling,
            reasoning_content="hm",
            reasoning="hm",
            reasoning_details=[{"type": "reasoning.text", "text": "hm"}],
        ),
        effort_none=_put(_root, reasoning_effort="none"),
        thinking_of_claude=_put(_root, thinking={"type": "enabled", "budget_tokens": 2000}),
        long_user=_put(_root, user="u" * 150),
        long_id=_all(_put(_call, id="c" * 80), _put(_result, tool_call_id="c" * 80)),
    ),
    Mutation(
        "picture-as-text",
        "openai-chat",
        _add_parts({"type": "image_url", "image_url": PICTURE}),
        adds=("zebra.png",),
    ),
    Mutation(
        "arguments-null",
        "openai-chat",
        _put(lambda body: _call(body)["function"], arguments=None),
        loses=(SEARCHED,),
    ),
    Mutation("result-null", "openai-chat", _put(_result, content=None), loses=(FOUND,)),
    Mutation("result-number", "openai-chat", _put(_result, content=12345678), loses=(FOUND,), adds=("12345678",)),
    *(
        Mutation(f"tool-{name}", "openai-chat", _put(_root, tools=[tool]), adds=(TOOL_NAME,))
        for name, tool in (
            ("of-claude", _CLAUDE_TOOL),
            ("of-gemini", _GEMINI_TOOL),
            ("of-responses", _FLAT_TOOL),
            ("bare", _BARE_TOOL),
        )
    ),
    *_mutations(
        "openai-chat",
        False,
        limit_negative=_put(_root, max_tokens=-5),
        choice_of_nobody=_put(_root, tool_choice={"type": "function", "function": {"name": "nobody"}}),
        unknown_part=_put(_asking, content=[{"type": "hologram", "hologram": {"x": 1}}]),
        messages_as_text=_put(_root, messages="Hi"),
        message_as_number=lambda body: body["messages"].append(7),
        content_as_number=_put(_asking, content=7),
        temperature_as_object=_put(_root, temperature={"hot": True}),
        tools_as_text=_put(_root, tools="all of them"),
    ),
)


def _claude_asking(body: Wire) -> Wire:
    message: Wire = body["messages"][0]
    return message


def _claude_use(body: Wire) -> Wire:
    use: Wire = body["messages"][1]["content"][0]
    return use


def _claude_result(body: Wire) -> Wire:
    result: Wire = body["messages"][2]["content"][0]
    return result


_CHAT_CALL: Wire = {
    "id": "call_1",
    "type": "function",
    "function": _named(arguments='{"city":"' + SEARCHED + '"}'),
}


def _chat_turns_in_claude(body: Wire) -> None:
    body["messages"][1] = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
    body["messages"][2] = {"role": "tool", "tool_call_id": "call_1", "content": FOUND}


ANTHROPIC = (
    *_mutations(
        "anthropic",
        True,
        input_as_text=_put(_claude_use, input='{"city":"' + SEARCHED + '"}'),
        result_as_object=_put(_claude_result, content={"temperature": FOUND}),
        use_and_result_without_ids=_all(_drop(_claude_use, "id"), _drop(_claude_result, "tool_use_id")),
        stop_as_text=_put(_root, stop_sequences="END"),
        choice_as_text=_put(_root, tool_choice="auto"),
        choice_of_chat=_put(_root, tool_choice={"type": "function", "function": {"name": TOOL_NAME}}),
        turns_of_chat=_chat_turns_in_claude,
        system_among_messages=lambda body: body["messages"].insert(0, {"role": "system", "content": RULES}),
        part_without_type=lambda body: _claude_asking(body)["content"][0].pop("type"),
        part_with_index=lambda body: _claude_asking(body)["content"][0].update(index=0),
        part_of_responses=lambda body: _claude_asking(body)["content"][0].update(type="input_text"),
        content_as_object=_put(_claude_asking, content={"type": "text", "text": ASKED}),
        content_as_texts=_put(_claude_asking, content=["Well,", ASKED]),
        unknown_message_fields=_put(_claude_asking, done=True, name="Ann"),
        no_limit_given=_drop(_root, "max_tokens"),
        bad_signature=lambda body: body["messages"][1]["content"].insert(
            0, {"type": "thinking", "thinking": "hm", "signature": "undefined"}
        ),
        long_user=_put(_root, metadata={"user_id": "u" * 300}),
        stop_null=_put(_root, stop_sequences=None),
        metadata_null=_put(_root, metadata=None),
        result_error_null=_put(_claude_result, is_error=None),
    ),
    Mutation("result-empty", "anthropic", _put(_claude_result, content=""), loses=(FOUND,)),
    Mutation("result-without-parts", "anthropic", _put(_claude_result, content=[]), loses=(FOUND,)),
    Mutation("result-null", "anthropic", _put(_claude_result, content=None), loses=(FOUND,)),
    Mutation("input-null", "anthropic", _put(_claude_use, input=None), loses=(SEARCHED,)),
    Mutation(
        "picture-of-chat",
        "anthropic",
        lambda body: _claude_asking(body)["content"].append({"type": "image_url", "image_url": {"url": PICTURE}}),
        adds=("zebra.png",),
    ),
    *(
        Mutation(f"tool-{name}", "anthropic", _put(_root, tools=[tool]), adds=(TOOL_NAME,))
        for name, tool in (
            ("of-chat", _CHAT_TOOL),
            ("of-gemini", _GEMINI_TOOL),
            ("of-responses", _FLAT_TOOL),
            ("without-schema", _named(description="Tells it.")),
        )
    ),
    *_mutations(
        "anthropic",
        False,
        limit_negative=_put(_root, max_tokens=-5),
        choice_of_nobody=_put(_root, tool_choice={"type": "tool", "name": "nobody"}),
        unknown_part=_put(_claude_asking, content=[{"type": "hologram", "hologram": {"x": 1}}]),
        messages_as_text=_put(_root, messages="Hi"),
        content_as_number=_put(_claude_asking, content=7),
        tools_as_text=_put(_root, tools="all of them"),
    ),
)


def _gemini_asking(body: Wire) -> Wire:
    content: Wire = body["contents"][0]
    return content


def _gemini_call(body: Wire) -> Wire:
    call: Wire = body["contents"][1]["parts"][0]["functionCall"]
    return call


def _gemini_response(body: Wire) -> Wire:
    response: Wire = body["contents"][2]["parts"][0]["functionResponse"]
    return response


def _snake_case(body: Wire) -> None:
    body["contents"][1]["parts"] = [{"function_call": _gemini_call(body)}]
    body["contents"][2]["parts"] = [{"function_response": _gemini_response(body)}]
    body["tools"] = [{"function_declarations": body["tools"][0]["functionDeclarations"]}]
    body["generation_config"] = {"max_output_tokens": 100}


GEMINI = (
    *_mutations(
        "gemini",
        True,
        part_with_index=lambda body: _gemini_asking(body)["parts"][0].update(index=0),
        part_with_type=lambda body: _gemini_asking(body)["parts"][0].update(type="text"),
        content_for_parts=_become(_gemini_asking, role="user", content=ASKED),
        parts_as_text=_put(_gemini_asking, parts=ASKED),
        parts_as_object=_put(_gemini_asking, parts={"text": ASKED}),
        parts_as_texts=_put(_gemini_asking, parts=["Well,", ASKED]),
        no_role=_drop(_gemini_asking, "role"),
        role_assistant=lambda body: body["contents"][1].update(role="assistant"),
        role_tool=lambda body: body["contents"][2].update(role="tool"),
        system_as_text=_put(_root, systemInstruction=RULES),
        snake_case=_snake_case,
        response_as_text=_put(_gemini_response, response=FOUND),
        response_as_list=_put(_gemini_response, response=[FOUND]),
        arguments_as_text=_put(_gemini_call, args='{"city":"' + SEARCHED + '"}'),
        response_without_name=_drop(_gemini_response, "name"),
        unknown_content_fields=_put(_gemini_asking, done=True),
        temperature_as_text=_put(_root, generationConfig={"temperature": "0.5"}),
        stop_as_text=_put(_root, generationConfig={"stopSequences": "END"}),
        budget_dynamic=_put(_root, generationConfig={"thinkingConfig": {"thinkingBudget": -1}}),
        level_medium=_put(_root, generationConfig={"thinkingConfig": {"thinkingLevel": "MEDIUM"}}),
    ),
    *(
        Mutation(f"tool-{name}", "gemini", _put(_root, tools=[tool]), adds=(TOOL_NAME,))
        for name, tool in (("of-chat", _CHAT_TOOL), ("of-claude", _CLAUDE_TOOL), ("of-responses", _FLAT_TOOL))
    ),
    *_mutations(
        "gemini",
        False,
        limit_negative=_put(_root, generationConfig={"maxOutputTokens": -5}),
        unknown_part=_put(_gemini_asking, parts=[{"hologram": {"x": 1}}]),
        contents_as_number=_put(_root, contents=7),
        tools_as_text=_put(_root, tools="all of them"),
    ),
)


def _item(number: int) -> Callable[[Wire], Wire]:
    return lambda body: body["input"][number]


def _chat_turns_in_responses(body: Wire) -> None:
    body["input"][1] = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
    body["input"][2] = {"role": "tool", "tool_call_id": "call_1", "content": FOUND}


RESPONSES = (
    *_mutations(
        "openai-responses",
        True,
        arguments_as_object=_put(_item(1), arguments={"city": SEARCHED}),
        output_as_object=_put(_item(2), output={"temperature": FOUND}),
        output_as_list=_put(_item(2), output=[FOUND]),
        part_of_chat=lambda body: body["input"][0]["content"][0].update(type="text"),
        part_without_type=lambda body: body["input"][0]["content"][0].pop("type"),
        part_with_index=lambda body: body["input"][0]["content"][0].update(index=0),
        content_as_object=_put(_item(0), content={"type": "input_text", "text": ASKED}),
        content_as_texts=_put(_item(0), content=["Well,", ASKED]),
        turns_of_chat=_chat_turns_in_responses,
        choice_of_chat=_put(_root, tool_choice={"type": "function", "function": {"name": TOOL_NAME}}),
        choice_any=_put(_root, tool_choice="any"),
        call_and_output_without_ids=_all(_drop(_item(1), "call_id"), _drop(_item(2), "call_id")),
        call_with_empty_ids=_all(_put(_item(1), call_id=""), _put(_item(2), call_id="")),
        unknown_item_fields=_put(_item(0), done=True),
        messages_for_input=lambda body: body.update(messages=body.pop("input")),
        reasoning_alone=lambda body: body["input"].insert(1, {"type": "reasoning", "id": "rs_1", "summary": []}),
        reasoning_without_summary=_all(
            _put(_root, store=False), lambda body: body["input"].insert(1, {"type": "reasoning", "id": "rs_1"})
        ),
        long_user=_put(_root, user="u" * 150),
        limit_name_of_chat=_put(_root, max_tokens=100),
        tools_null=_put(_root, tools=None),
    ),
    Mutation("arguments-null", "openai-responses", _put(_item(1), arguments=None), loses=(SEARCHED,)),
    Mutation("output-null", "openai-responses", _put(_item(2), output=None), loses=(FOUND,)),
    Mutation(
        "picture-as-object",
        "openai-responses",
        lambda body: body["input"][0]["content"].append({"type": "image_url", "image_url": {"url": PICTURE}}),
        adds=("zebra.png",),
    ),
    *(
        Mutation(f"tool-{name}", "openai-responses", _put(_root, tools=[tool]), adds=(TOOL_NAME,))
        for name, tool in (("of-chat", _CHAT_TOOL), ("of-claude", _CLAUDE_TOOL), ("bare", _BARE_TOOL))
    ),
    *_mutations(
        "openai-responses",
        False,
        limit_negative=_put(_root, max_output_tokens=-5),
        unknown_part=_put(_item(0), content=[{"type": "hologram", "hologram": {"x": 1}}]),
        input_as_number=_put(_root, input=7),
        tools_as_text=_put(_root, tools="all of them"),
    ),
)

MUTATIONS = (*CHAT, *ANTHROPIC, *GEMINI, *RESPONSES)
