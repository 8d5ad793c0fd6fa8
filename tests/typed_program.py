"""A program of a user, for type checkers: everything that the library offers, with its types. It also runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import httpx

import dragoman
from dragoman import events, parts
from dragoman.errors import DragomanError, OptionError, RepairRefused

REQUEST: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
TARGET = "anthropic/claude-sonnet-4-6"
WHOLE = b'{"type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn"}'


def compile_request(state: dragoman.State) -> dragoman.AdaptedRequest:
    policy = dragoman.Policy(
        rules={"late-system": "opening"},
        max_loss="authority",
        doubt="careful",
        history=dragoman.TrimPolicy(max_history_tokens=4000),
        limits=dragoman.RequestLimits(messages=100),
    )
    adapted = dragoman.adapt(REQUEST, target=TARGET, source="openai-chat", policy=policy, state=state, headers={})
    address: str = adapted.path
    body: bytes = adapted.body
    rules: list[str] = [change.rule for change in adapted.changes]
    missing: tuple[str, ...] = adapted.media_to_fetch
    names: dict[str, str] = dict(adapted.undo.names)
    assert address
    assert body
    assert rules
    assert not missing
    assert not names
    return adapted


def read_answer(answer: dragoman.Answer) -> str:
    failure: dragoman.Failure | None = answer.failure
    if failure is not None:
        return f"{failure.kind.value} {failure.retry_after or 0:.0f} {failure.retryable}"
    usage: dragoman.Usage | None = answer.usage
    reply: dragoman.Reply | None = answer.reply
    assert reply is not None
    assert answer.stop is dragoman.Stop.END
    texts = [part.text for choice in reply.choices for part in choice.parts if isinstance(part, parts.Text)]
    calls = [part.name for choice in reply.choices for part in choice.parts if isinstance(part, parts.Call)]
    return " ".join([*texts, *calls, str(usage.total if usage is not None else 0)])


def read_event(event: events.Event) -> str:
    match event:
        case events.TextDelta() | events.ReasoningDelta():
            return event.text
        case events.CallStarted(name=name):
            return name
        case events.Used(usage=usage):
            return str(usage.output)
        case events.Stopped(reason=reason):
            return reason.value
        case events.Failed(failure=failure):
            return failure.message
        case _:
            return ""


def read_stream(stream: dragoman.AnswerStream, chunks: Iterable[bytes]) -> str:
    return "".join(read_event(event) for event in stream.events(chunks))


async def read_later(stream: dragoman.AnswerStream, chunks: AsyncIterator[bytes]) -> list[events.Event]:
    return [event async for event in stream.async_events(chunks)]


def lint_request() -> list[str]:
    found: list[dragoman.Finding] = dragoman.lint(REQUEST, targets=[TARGET], policy=dragoman.Policy(doubt="careful"))
    return [f"{finding.severity.value} {finding.rule} {finding.at}" for finding in found]


def make_client(note: list[dragoman.AdaptedRequest]) -> httpx.Client:
    def provider(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=WHOLE, headers={"content-type": "application/json"})

    transport = dragoman.DragomanTransport(
        TARGET,
        api_key="k",
        policy=dragoman.Policy(max_loss="content"),
        wrap=httpx.MockTransport(provider),
        on_adapted=note.append,
    )
    answer: httpx.Response = transport.handle_request(
        httpx.Request("POST", "http://any/v1/chat/completions", json=REQUEST)
    )
    assert answer.status_code == 200
    return httpx.Client(transport=transport)


async def ask_later(transport: dragoman.AsyncDragomanTransport) -> int:
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await client.post("http://any/v1/chat/completions", json=REQUEST)
    return answer.status_code


def main() -> None:
    state = dragoman.State()
    adapted = compile_request(state)
    answer = adapted.answer(WHOLE, 200, {})
    state = state.after(answer)
    print(read_answer(answer), state, adapted, answer)
    print(read_answer(adapted.answer(b"", 429, {"retry-after": "3"})))
    print(read_stream(adapted.stream(), [b"event: error\ndata: {}\n\n"]))
    print(lint_request())
    sent: list[dragoman.AdaptedRequest] = []
    with make_client(sent) as client:
        print(client.post("http://any/v1/chat/completions", json=REQUEST).status_code, len(sent))
    try:
        dragoman.adapt({"messages": []}, target="nobody/m")
    except (RepairRefused, OptionError) as refused:
        print(refused.at)
    except DragomanError as fault:
        print(fault.status, fault.hint)


if __name__ == "__main__":
    main()
