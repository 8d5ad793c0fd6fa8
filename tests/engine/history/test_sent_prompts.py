"""Which prompts were sent lately: by caller, for five minutes, a bounded number of them."""

from __future__ import annotations

from dragoman.conversation.canonical import digest
from dragoman.conversation.parts import CacheHint
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.history.prompt_digests import PromptDigests, digest_prompt
from dragoman.engine.history.sent_prompts import KEPT_SECONDS, SentBefore, SentPrompts
from dragoman.engine.library.adapt import BUILTIN, read

NEW, OPENING, TURNS = SentBefore.NOTHING, SentBefore.OPENING, SentBefore.TURNS
FIRST = ("system", "Be brief."), ("user", "Hi")
SECOND = (*FIRST, ("assistant", "Hello."), ("user", "And?"))


def digests(*said: tuple[str, str], target: str = "t") -> PromptDigests:
    messages = [{"role": role, "content": words} for role, words in said]
    return digest_prompt(read({"model": "m", "messages": messages}, source="openai-chat").conversation, target)


def test_the_next_turn_knows_the_one_before() -> None:
    sent = SentPrompts(lambda: 0.0)
    assert [sent.note("ann", digests(*said)) for said in (FIRST, SECOND)] == [NEW, TURNS]


def test_a_session_is_known_again_after_turns_that_another_process_had() -> None:
    now = [0.0]
    sent = SentPrompts(lambda: now[0])
    fourth = (*SECOND, ("assistant", "Yes."), ("user", "So?"), ("assistant", "No."), ("user", "Why?"))
    sent.note("ann", digests(*FIRST))
    assert sent.note("ann", digests(*fourth)) is TURNS
    edited = (*fourth[:3], ("user", "But?"), *fourth[4:], ("assistant", "Well."), ("user", "Oh?"))
    assert sent.note("ann", digests(*edited)) is OPENING
    now[0] += KEPT_SECONDS
    assert (
        sent.note("ann", digests(*edited, ("assistant", "Hm."), ("user", "Eh?"), ("assistant", "A."), ("user", "B")))
        is NEW
    )


def test_a_text_behind_the_result_of_a_tool_continues_a_turn_too() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "user", "content": "A reminder."},
    ]
    asked = read({"model": "m", "messages": messages}, source="openai-chat")
    assert SentPrompts(lambda: 0.0).note("ann", digest_prompt(asked.conversation, "t")) is TURNS


def test_an_edited_turn_knows_the_opening_alone() -> None:
    sent = SentPrompts(lambda: 0.0)
    sent.note("ann", digests(*FIRST))
    edited = (FIRST[0], ("user", "Ho"), *SECOND[2:])
    assert sent.note("ann", digests(*edited)) is OPENING


def test_a_caller_and_a_target_know_nothing_of_others() -> None:
    sent = SentPrompts(lambda: 0.0)
    sent.note("ann", digests(*FIRST))
    assert sent.note("bob", digests(*SECOND)) is NEW
    assert sent.note("ann", digests(*SECOND, target="other")) is NEW


def test_the_result_of_a_tool_continues_a_turn() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    asked = read({"model": "m", "messages": messages}, source="openai-chat")
    assert SentPrompts(lambda: 0.0).note("ann", digest_prompt(asked.conversation, "t")) is TURNS


def test_a_session_that_begins_otherwise_every_time_is_not_written_for_it() -> None:
    sent = SentPrompts(lambda: 0.0)

    def turn(opening: int, **more: int) -> SentBefore:
        return sent.note("ann", PromptDigests(opening, 0, opening + 100, continues=True, **{"session": 7, **more}))

    assert [turn(opening) for opening in (1, 2, 3, 4)] == [TURNS, TURNS, NEW, NEW]
    assert turn(4) is TURNS, "it has stopped doing that"
    assert [turn(opening) for opening in (5, 6, 5)] == [TURNS, TURNS, TURNS]
    assert turn(9, session=8) is TURNS, "another session"


def test_a_prompt_is_forgotten_with_its_time_and_renewed_by_use() -> None:
    now = 0.0
    sent = SentPrompts(lambda: now)
    sent.note("ann", digests(*FIRST))
    now = KEPT_SECONDS - 1
    assert sent.note("ann", digests(*FIRST)) is OPENING
    now += KEPT_SECONDS - 1
    assert sent.note("ann", digests(*FIRST)) is OPENING
    now += KEPT_SECONDS
    assert sent.note("ann", digests(*FIRST)) is NEW


def test_the_oldest_go_first() -> None:
    sent = SentPrompts(lambda: 0.0, most=10)
    for at in range(100):
        sent.note("ann", digests(("system", f"{at}"), ("user", "Hi")))
    assert len(sent) == 10


def test_the_entry_for_a_hint_is_the_same_one_on_every_turn() -> None:
    ask = read(
        {"model": "m", "messages": [{"role": role, "content": words} for role, words in SECOND]}, source="openai-chat"
    )
    target = BUILTIN.target("anthropic/claude-sonnet-4-5")
    first, second = (compile_ask(ask, target, Options(sent_before=TURNS)).changes for _ in range(2))
    hints = [one for one in first if one.rule == "cache-marks"]
    assert [(one.at, one.kind, one.before, one.after) for one in hints] == [
        (at, "added", None, digest(CacheHint())) for at in ("/messages/0", "/messages/1", "/messages/3")
    ]
    assert all(one is again for one, again in zip(first, second, strict=True) if one.rule == "cache-marks")
