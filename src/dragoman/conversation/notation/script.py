r"""The script: a conversation as lines that a person can read and write, for tests, docs and the terminal.

    @max_tokens 100
    @tool look {"type":"object"}
    system: Be brief.
    user (bob): What is the weather?
    [image https://example.com/sky.png]
    ~ I had better look outside.
    assistant: One moment.
    call look(c1) {"where":"outside"}
    result c1: 12 degrees
    result c2 !error: no such tool
    assistant: Cold. {"done":true}

A line is a message or one more part of the message above it. Texts stand on one line, with the escapes of JSON (`\n`).

- `ROLE: TEXT` opens a message, `ROLE (NAME): TEXT` one with a name; fields of no meaning to us follow as an object.
  `ROLE: []` has no content at all.
- `call NAME(ID) ARGUMENTS` belongs to the assistant message above it, or opens one; `~ TEXT` is thinking, and the
  `assistant:` line that follows belongs to it. Results in a row are one turn. `[KIND URL]` is media.
- `+ PART` adds any part, a text too, to the message above; `| PART` one to the result above.
  A blank line ends a message.
- `[part JSON]` and `[message JSON]` say what has no shorter form. `@NAME VALUE` is a setting.

Reading back what was shown gives an equal conversation.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.literals import StringLiteral, quote, unquote
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.notation.plain_json import as_plain, from_plain
from dragoman.conversation.parts import Call, Extras, Media, MediaKind, Part, Reasoning, Remote, Result, Text
from dragoman.conversation.settings import SPELLINGS, Effort, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, Tool, ToolChoice
from dragoman.errors import MalformedRequest

_WORD = r'("(?:[^"\\]|\\.)*"|[^\s"():!{}\[\]]+)'
_ROLE = re.compile(rf"([A-Za-z_][\w-]*)(?: \({_WORD}\))?:(?: (.*))?$", re.DOTALL)
_CALL = re.compile(rf"call {_WORD}\({_WORD}\)( !custom)? (.+)$", re.DOTALL)
_RESULT = re.compile(rf"result {_WORD}( !error)?:(?: (.*))?$", re.DOTALL)
_MEDIA = re.compile(rf"\[({'|'.join(MediaKind)}) ([^\s\[\]]+)\]$")
_PART = re.compile(r"\[part (.+)\]$", re.DOTALL)
_MESSAGE = re.compile(r"\[message (.+)\]$", re.DOTALL)
_SETTING = re.compile(r"@(\w+) (.+)$", re.DOTALL)
_TOOL = re.compile(rf"{_WORD} (\{{.*)$", re.DOTALL)
_BARE = re.compile(r'[^\s"():!{}\[\]]+')
_ESCAPE = re.compile(r'(\\.)|"', re.DOTALL)
_NOTHING = "[]"

_ROLES = {str(role): role for role in Role if role is not Role.TOOL}
_SHORT = {field: getattr(Settings(), field) for field in Settings.__struct_fields__ if field not in SPELLINGS}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


def parse(text: str) -> Conversation:
    """The conversation that a script tells. Raises MalformedRequest, which names the line."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            reader.take(line.strip(" "))
        except MalformedRequest as fault:
            raise MalformedRequest(fault.message, at=f"line {number}", hint=fault.hint) from None
    return reader.conversation()


def show(conversation: Conversation) -> str:
    """The conversation as a script."""
    lines = _show_head(conversation)
    before: Message | None = None
    for message in conversation.messages:
        shown = _show_message(message)
        if before is not None and _would_join(before, shown[0]):
            lines.append("")
        lines += shown
        before = message
    return "\n".join(lines)


# Reading


class _Reader:
    """What has been read, and the message that is still open."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.settings: dict[str, Any] = {}
        self.tools: list[Any] = []
        self.top: dict[str, Any] = {}
        self.open = False

    def conversation(self) -> Conversation:
        placed = tuple(replace(message, at=index) for index, message in enumerate(self.messages))
        return Conversation(placed, tuple(self.tools), Settings(**self.settings), **self.top)

    def take(self, line: str) -> None:
        if not line:
            self.open = False
        elif line[0] == "@":
            self._set(line)
        elif line[:2] == "+ ":
            self._add(_part(line[2:]))
        elif line[:2] == "| ":
            self._add_inside(_part(line[2:]))
        elif (whole := _MESSAGE.match(line)) is not None:
            self._put(from_plain(_json(whole[1]), Message))
        elif (part := _special(line)) is not None:
            self._take_part(part)
        else:
            self._take_role(line)

    def _take_part(self, part: Part) -> None:
        """A part on a line of its own joins a message that it may belong to, or opens one."""
        role, joins = _home(part, self._last())
        if joins:
            self._add(part)
        else:
            self._put(Message(role, (part,)))

    def _take_role(self, line: str) -> None:
        found = _ROLE.match(line)
        if found is None:
            raise MalformedRequest("not a line of a script", hint="write `role: text`, `call name(id) {}` or `+ text`")
        word, name, content = found[1], found[2], found[3] or ""
        message = Message(_ROLES.get(word, Role.USER), (), role_text="" if word in _ROLES else word)
        message = replace(message, name=None if name is None else _word(name))
        content, fields = _without_extras(content)
        if fields is not None:
            extras = Extras(DEFAULT_DIALECT, {key: _encode(value) for key, value in fields.items()})
            message = replace(message, extras=extras)
        parts = () if content == _NOTHING else (_part(content),)
        last = self._last()
        if last is not None and _is_thought(last) and message.role is Role.ASSISTANT:
            self.messages[-1] = replace(message, parts=last.parts + parts)
        else:
            self._put(replace(message, parts=parts))

    def _last(self) -> Message | None:
        return self.messages[-1] if self.open else None

    def _put(self, message: Message) -> None:
        self.messages.append(message)
        self.open = True

    def _add(self, part: Part) -> None:
        last = self._last()
        if last is None:
            raise MalformedRequest("there is no message above to add to")
        self.messages[-1] = replace(last, parts=(*last.parts, part))

    def _add_inside(self, part: Part) -> None:
        last = self._last()
        result = last.parts[-1] if last is not None and last.parts else None
        if last is None or not isinstance(result, Result):
            raise MalformedRequest("there is no result above to add to")
        more = replace(result, parts=(*result.parts, part))
        self.messages[-1] = replace(last, parts=(*last.parts[:-1], more))

    def _set(self, line: str) -> None:
        found = _SETTING.match(line)
        if found is None:
            raise MalformedRequest("not a setting", hint="write `@name value`")
        name, value = found[1], found[2]
        if name == "tool":
            self.tools.append(_tool(value))
        elif name in ("extras", "hint"):
            self.top[name] = from_plain(_json(value))
        elif name in _SHORT:
            self.settings[name] = _setting(name, value)
        else:
            raise MalformedRequest(f'no setting is called "{name}"', hint=f"known: {', '.join(_SHORT)}")


def _home(part: Part, last: Message | None) -> tuple[Role, bool]:
    """The role that a lone part opens a message with, and whether it joins the last message instead."""
    role = None if last is None else last.role
    if isinstance(part, Result):
        return Role.TOOL, role is Role.TOOL
    if isinstance(part, Call):
        return Role.ASSISTANT, role is Role.ASSISTANT
    if isinstance(part, Reasoning):
        return Role.ASSISTANT, last is not None and _is_thought(last)
    return Role.USER, last is not None and role is not Role.TOOL


def _is_thought(message: Message) -> bool:
    """Nothing but thinking so far: the words are still to come."""
    kinds = {type(part) for part in message.parts}
    plain = message.name is None and message.extras is None and message.hint is None
    return message.role is Role.ASSISTANT and kinds == {Reasoning} and plain


def _part(content: str) -> Part:
    found = _special(content)
    return Text(_literal(content)) if found is None else found


def _special(content: str) -> Part | None:
    """A part that is no plain text, or None."""
    if content[:2] == "~ " or content == "~":
        return Reasoning(text=Text(_literal(content[2:])))
    if (found := _MEDIA.match(content)) is not None:
        return Media(kind=MediaKind(found[1]), source=Remote(found[2]))
    if (found := _PART.match(content)) is not None:
        return _parse_whole_part(found[1])
    if (found := _CALL.match(content)) is not None and _is_json(found[4]):
        arguments = _encode(_json(found[4]))
        return Call(id=_word(found[2]), name=_word(found[1]), arguments=arguments, custom=found[3] is not None)
    if (found := _RESULT.match(content)) is not None:
        inside = found[3] or ""
        parts = () if inside == _NOTHING else (_part(inside),)
        return Result(call_id=_word(found[1]), parts=parts, is_error=found[2] is not None)
    return None


def _parse_whole_part(text: str) -> Part:
    part = from_plain(_json(text))
    if not isinstance(part, Part):
        raise MalformedRequest("not a part of a message")
    return part


def _without_extras(content: str) -> tuple[str, dict[str, Any] | None]:
    """The text of a line and the fields that stand after it."""
    if content[-1:] != "}" or _special(content) is not None:
        return content, None
    text, sign, rest = ("", "{", content[1:]) if content.startswith('{"') else content.partition(' {"')
    extras = sign.lstrip() + rest
    return (text, _json(extras)) if sign and _is_json(extras) else (content, None)


def _tool(value: str) -> Any:
    found = _TOOL.match(value)
    return from_plain(_json(value)) if found is None else Tool(_word(found[1]), schema=_encode(_json(found[2])))


def _setting(name: str, value: str) -> Any:
    plain = _json(value) if _is_json(value) else value
    if name == "tool_choice" and isinstance(plain, str):
        return _parse_word(ToolChoice, ChoiceMode, plain)
    if name == "thinking" and isinstance(plain, str):
        return Thinking(effort=_parse_word(Effort, Effort, plain))
    types = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    return from_plain(plain, types[name])


def _parse_word(make: Any, words: Any, word: str) -> Any:
    if word not in tuple(words):
        raise MalformedRequest(f'"{word}" is none of {", ".join(words)}')
    return make(words(word))


def _word(text: str) -> str:
    return unquote(text.encode()) if text[:1] == '"' else text


def _literal(text: str) -> StringLiteral:
    """The JSON literal of a text as it stands in a script: quotes need no escape there."""
    literal = _ESCAPE.sub(lambda found: found[1] or '\\"', text)
    try:
        return quote(unquote(f'"{literal}"'.encode()))
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise MalformedRequest("an escape that JSON does not have", hint=r"write a backslash as \\") from None


def _json(text: str) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise MalformedRequest(f"not JSON: {fault}") from None


def _is_json(text: str) -> bool:
    try:
        _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


# Showing


def _show_head(conversation: Conversation) -> list[str]:
    lines = [
        f"@{name} {_compact(getattr(conversation.settings, name))}"
        for name, default in _SHORT.items()
        if getattr(conversation.settings, name) != default
    ]
    for tool in conversation.tools:
        lines.append(f"@tool {_show_tool(tool)}")
    for name in ("extras", "hint"):
        value = getattr(conversation, name)
        if value is not None:
            lines.append(f"@{name} {_compact(value)}")
    return lines


def _show_tool(tool: Any) -> str:
    plain = Tool(tool.name, schema=tool.schema, at=tool.at, inner=tool.inner) if isinstance(tool, Tool) else None
    if plain is not None and plain.schema is not None and tool == plain:
        schema = _encode(_decode(tool.schema)).decode()
        if schema[:1] == "{":
            return f"{_show_word(tool.name)} {schema}"
    return _compact(tool)


def _would_join(before: Message, line: str) -> bool:
    """Would this line be taken for more of the message before?"""
    part = _special(line)
    if part is not None:
        return _home(part, before)[1]
    return _is_thought(before) and line.startswith(("assistant:", "assistant ("))


def _show_message(message: Message) -> list[str]:
    lines = _shorten_message(message)
    if _reads_back(lines, message):
        return lines
    return [f"[message {_compact(replace(message, at=MADE))}]"]


def _reads_back(lines: list[str], message: Message) -> bool:
    """Do the short lines say all of it? What they cannot say (an odd role, a hint) makes the difference."""
    try:
        return parse("\n".join(lines)).messages == (message,)
    except MalformedRequest:
        return False


def _shorten_message(message: Message) -> list[str]:
    named = message.name is not None or message.extras is not None or bool(message.role_text)
    thoughts, rest = _split(message, named)
    lines = [line for part in thoughts for line in _show_part(part)]
    if _needs_role(message, rest, named or not lines):
        lines += _render_role(message, rest[:1])
        rest = rest[1:]
    for part in rest:
        first, *inside = _show_part(part)
        lines += [first if _stands_alone(part, message.role) else f"+ {first}", *inside]
    return lines


def _split(message: Message, named: bool) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The thinking that may stand on lines of its own before the assistant's words, and the rest."""
    parts = message.parts
    if message.role is not Role.ASSISTANT:
        return (), parts
    count = 0
    while count < len(parts) and type(parts[count]) is Reasoning and _show_part(parts[count])[0][:1] == "~":
        count += 1
    has_words = count < len(parts) and type(parts[count]) is Text
    return (parts[:count], parts[count:]) if has_words or not named else ((), parts)


def _needs_role(message: Message, rest: tuple[Part, ...], unsaid: bool) -> bool:
    if rest and type(rest[0]) is Text:
        return True
    opens = {Role.ASSISTANT: Call, Role.TOOL: Result}.get(message.role)
    alone = message == Message(message.role, message.parts) and bool(rest) and type(rest[0]) is opens
    return unsaid and not alone


def _render_role(message: Message, first: tuple[Part, ...]) -> list[str]:
    name = f" ({_show_word(message.name)})" if message.name is not None else ""
    fields = f" {_compact(dict(message.extras.fields))}" if message.extras is not None else ""
    content, *inside = _show_part(first[0]) if first else [_NOTHING]
    return [f"{message.role_text or message.role}{name}: {content}".rstrip(" ") + fields, *inside]


def _stands_alone(part: Part, role: Role) -> bool:
    return not isinstance(part, (Text, Reasoning)) and _home(part, Message(role, ()))[1]


def _show_part(part: Part) -> list[str]:
    lines = _shorten_part(part)
    return lines if lines is not None else [f"[part {_compact(part)}]"]


def _shorten_part(part: Part) -> list[str] | None:
    if part.hint is not None or part.extras is not None:
        return None
    if isinstance(part, Text):
        return [_show_text(part)] if part.signature is None else None
    if isinstance(part, Call):
        return [_show_call(part)] if part.signature is None else None
    if isinstance(part, Result):
        return _show_result(part)
    if isinstance(part, Reasoning) and part.text is not None:
        plain = part.state is None and not part.redacted and _shorten_part(part.text) is not None
        return [f"~ {_escape(part.text.text)}".rstrip(" ")] if plain else None
    if isinstance(part, Media) and isinstance(part.source, Remote):
        line = f"[{part.kind} {part.source.url}]"
        return [line] if _special(line) == part else None
    return None


def _show_call(call: Call) -> str:
    mark = " !custom" if call.custom else ""
    arguments = _encode(_decode(call.arguments)).decode()
    return f"call {_show_word(call.name)}({_show_word(call.id)}){mark} {arguments}"


def _show_result(result: Result) -> list[str] | None:
    if result.custom or any(isinstance(part, Result) for part in result.parts):
        return None
    mark = " !error" if result.is_error else ""
    first, *more = [_show_part(part)[0] for part in result.parts] or [_NOTHING]
    head = f"result {_show_word(result.call_id)}{mark}: {first}".rstrip(" ")
    return [head, *(f"| {line}" for line in more)]


def _show_text(part: Text) -> str:
    text = _escape(part.text)
    if text[-1:] == "}":
        text = text[:-1] + r"\u007d"
    if text == _NOTHING or _special(text) is not None:
        text = f"\\u{ord(text[0]):04x}{text[1:]}"
    return text


def _escape(text: str) -> str:
    """On one line, as JSON escapes it; quotes stay bare, and blanks at the ends are kept by an escape."""
    plain = _ESCAPE.sub(lambda found: '"' if found[1] == '\\"' else found[0], quote(text).decode()[1:-1])
    inner = plain.strip(" ")
    if not inner:
        return r"\u0020" * len(plain)
    head = len(plain) - len(plain.lstrip(" "))
    return r"\u0020" * head + inner + r"\u0020" * (len(plain) - head - len(inner))


def _show_word(word: str) -> str:
    return word if _BARE.fullmatch(word) else quote(word).decode()


def _compact(value: Any) -> str:
    return _encode(as_plain(value)).decode()
