"""C31 to C37: a long history is cut to its budget; pairs hold, the sent prefix stays, and every cut is reported."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.engine.history.conversations import agent_loop, assistant, calls, chat, requests_of, results, system, user
from tests.strategies import Asked, conversations

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Call, Inline, Media, MediaKind, Reasoning, Result, Text
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.sizes import MARKER
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimmedHistory, TrimRequest, measure, measure_for, trim
from dragoman.engine.history.units import UnitKind, units_of
from dragoman.engine.library.adapt import read


def trimmed(messages: tuple[Message, ...], policy: TrimPolicy, cuts: tuple[Cut, ...] = ()) -> TrimmedHistory:
    return trim(Conversation(messages), TrimRequest(policy, cuts))


def tokens(messages: tuple[Message, ...], policy: TrimPolicy, whole: tuple[Message, ...] | None = None) -> float:
    """The turns of a conversation, as estimated for the `whole` of which they are left."""
    scale = measure_for(Conversation(whole or messages), TrimRequest(policy), "").bytes_per_token
    seen = measure(Conversation(messages), scale)
    turns = [size.total for size, message in zip(seen.sizes, messages, strict=True) if message.role != Role.SYSTEM]
    return sum(turns) / scale


def kept(done: TrimmedHistory) -> tuple[Message, ...]:
    return done.rewrite.conversation.messages


def words(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))


def test_C32_a_history_within_its_budget_stays_the_same_object() -> None:
    conversation = Conversation(chat(2))
    done = trim(conversation, TrimRequest(TrimPolicy()))
    assert done.rewrite.conversation is conversation
    assert (done.rewrite.notes, done.cut, done.statistics) == ((), None, None)


def test_C32_the_system_text_is_never_cut_and_recent_exchanges_are_not_shortened() -> None:
    messages = (system("Rules. " * 3_000), *chat(60)[1:])
    policy = TrimPolicy(max_history_tokens=6_000, keep_recent_exchanges=3)
    done = trimmed(messages, policy)
    assert kept(done)[0] is messages[0]
    recent = messages[-9:]  # two exchanges of four messages, and the last question
    assert kept(done)[-9:] == recent
    assert all(new is old for new, old in zip(kept(done)[-9:], recent, strict=True))
    assert tokens(kept(done), policy, messages) <= 6_000 * 1.05


def test_C33_while_calls_are_worked_through_nothing_leaves() -> None:
    """What was left out when the user asked stays out, and no more leaves while the calls are worked through."""
    asked, loop = (*chat(20)[:-1], user("Once more.")), agent_loop(12)[2:]
    policy = TrimPolicy(max_history_tokens=3_000)
    question = trimmed(asked, policy)
    assert len(kept(question)) < len(asked)
    done = trimmed((*asked, *loop), policy)
    assert tokens(kept(done), policy, (*asked, *loop)) > 3_000
    assert len(kept(done)) == len(kept(question)) + len(loop)
    assert kept(done)[-len(loop) :] == loop


@pytest.mark.parametrize(("spared", "shortened"), [(1, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("recent", [0, 2, 3, 9])
def test_C33_meanwhile_earlier_exchanges_are_shortened_but_for_the_last_user_turns(
    spared: int, shortened: int, recent: int
) -> None:
    """Their number takes the place of the recent exchanges'. The last exchange before the task stays whole."""
    asked, loop = (*chat(4)[:-1], user("Once more.")), agent_loop(12)[2:]
    policy = TrimPolicy(
        max_history_tokens=3_000, keep_recent_exchanges=recent, keep_recent_user_turns_in_chained_tool_calls=spared
    )
    assert trimmed(asked, policy).statistics is None
    done = trimmed((*asked, *loop), policy)
    assert len(kept(done)) == len(asked) + len(loop)
    questions = [message for message in kept(done) if words(message).startswith("question")]
    assert [MARKER in words(message) for message in questions] == [True] * shortened + [False] * (4 - shortened)


def test_C34_old_messages_are_shortened_and_results_more_than_others() -> None:
    long = "word " * 1_000
    messages = (
        user("first " * 1_000),
        Message(Role.ASSISTANT, (Call("a", "look", b"{}"),)),
        results(long, "a"),
        *[message for turn in range(9) for message in (user(f"{turn} " * 400), assistant(f"ok {turn}"))],
        user("now"),
    )
    policy = TrimPolicy(max_history_tokens=2_500, old_message_max_tokens=400, old_tool_result_max_tokens=100)
    scale = measure_for(Conversation(messages), TrimRequest(policy), "").bytes_per_token
    done = trimmed(messages, policy)
    question, answer = kept(done)[0], kept(done)[2].parts[0]
    assert words(question).endswith(MARKER)
    assert len(words(question)) == pytest.approx(400 * scale, abs=20)
    assert isinstance(answer, Result)
    (text,) = answer.parts
    assert isinstance(text, Text)
    assert text.text.endswith(MARKER)
    assert len(text.text) == pytest.approx(100 * scale, abs=50)


def test_C34_json_is_never_cut_in_the_middle() -> None:
    table = msgspec.json.encode([{"row": number} for number in range(900)]).decode()
    messages = (user("Read it."), *agent_loop(0)[2:], user(table), assistant("ok"), *chat(30)[1:])
    done = trimmed(messages, TrimPolicy(max_history_tokens=4_000))
    assert all(MARKER not in words(message) for message in kept(done) if words(message).startswith("["))


def test_C35_whole_units_leave_the_oldest_first() -> None:
    messages = chat(60)
    done = trimmed(messages, TrimPolicy(max_history_tokens=4_000))
    places = {id(message): at for at, message in enumerate(messages)}
    stayed = [places[id(message)] for message in kept(done) if id(message) in places]
    assert stayed == sorted(stayed)
    found = pair(kept(done))
    assert found.orphans == []
    assert found.unanswered == []
    assert kept(done)[1].role is Role.USER


def test_C35_a_question_after_a_long_chain_of_calls_finds_its_work_done() -> None:
    """Forty calls, their summary, and a question about them: the budget of 16,000 tokens is used."""
    work = agent_loop(40, "changed the file ")
    messages = (*work, assistant("I changed forty files."), user("Which files did you change?"))
    policy = TrimPolicy()
    assert tokens(messages, policy) > 18_000
    done = trimmed(messages, policy)
    assert done.statistics is not None
    assert done.statistics.dropped == 0
    assert 0.7 * 16_000 <= done.statistics.kept_tokens <= 16_000
    assert kept(done)[:2] == messages[:2]
    assert kept(done)[-20:] == messages[-20:]  # the oldest results were shortened, the newest were not


PICTURE = Media(kind=MediaKind.IMAGE, source=Inline("image/png", b'"iVBORw0KGgo="'))


@st.composite
def _working_turns(draw: st.DrawFn, turn: int) -> list[Message]:
    """Calls, perhaps several at once and after a thought, with their results: texts of any length, or JSON."""
    ids = [f"c{turn}_{number}" for number in range(draw(st.integers(1, 3)))]
    thought = Reasoning(text=Text(quote(f"thought {turn} " * draw(st.sampled_from([1, 40])))))
    parts = calls(*ids).parts
    text = f"result {turn} " * draw(st.sampled_from([1, 10, 60, 400]))
    words = draw(st.sampled_from([text, text, text, f'["{text[:600]}"]']))
    answered = results(words, *ids)
    if draw(st.booleans()):  # one of the results has a picture, too
        first, *others = answered.parts
        assert isinstance(first, Result)
        seen = Result(first.call_id, (*first.parts, PICTURE))
        answered = replace(answered, parts=(seen, *others))
    return [Message(Role.ASSISTANT, (thought, *parts) if draw(st.booleans()) else parts), answered]


@st.composite
def agent_histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Few questions, each with a long chain of calls and an answer, and a question that waits. All know their place."""
    made = [system()] if draw(st.booleans()) else []
    for question in range(draw(st.integers(1, 4))):
        made.append(user(f"question {question} " * draw(st.sampled_from([1, 20, 200]))))
        for turn in range(draw(st.integers(0, 30))):
            made += draw(_working_turns(100 * question + turn))
        made.append(assistant(f"answer {question} " * draw(st.sampled_from([1, 20, 200]))))
    return tuple(replace(message, at=at) for at, message in enumerate((*made, user("And now?"))))


any_budget = given(
    agent_histories(), st.sampled_from([2_000, 4_000, 10_000]), st.booleans(), st.sampled_from([0, 1, 3, 8])
)


@settings(deadline=None, max_examples=25)
@any_budget
def test_C35_a_budget_that_can_hold_a_unit_keeps_it(
    messages: tuple[Message, ...], budget: int, by_window: bool, spared: int
) -> None:
    check_what_is_kept(messages, budget, by_window, spared)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@any_budget
def test_C35_units_are_kept_of_many_histories(
    messages: tuple[Message, ...], budget: int, by_window: bool, spared: int
) -> None:
    check_what_is_kept(messages, budget, by_window, spared)


def check_what_is_kept(messages: tuple[Message, ...], budget: int, by_window: bool, spared: int) -> None:
    soft, window = (0, round(budget / 0.8)) if by_window else (budget, 0)
    policy = TrimPolicy(max_history_tokens=soft, window=window, keep_recent_exchanges=spared)
    done = trimmed(messages, policy)
    if done.statistics is None:
        return
    stayed = [message.at for message in kept(done)]
    assert stayed == sorted(stayed)
    found = pair(kept(done))
    assert (found.orphans, found.unanswered) == ([], [])
    users = [message.at for message in messages if message.role is Role.USER]
    essential = {0, users[0], users[-2], len(messages) - 2, len(messages) - 1}
    largest = max(shortest(messages[unit.start : unit.end], messages, policy) for unit in units_of(messages))
    if by_window and largest > budget / 2:  # once there was no room beside it, and what has left does not come back
        essential -= {users[0]}
    assert essential <= set(stayed)
    if not by_window:  # the last exchange is whole
        assert set(messages[users[-2] :: len(messages) - 2 - users[-2]]) <= set(kept(done))
    left = [messages[unit.start : unit.end] for unit in units_of(messages) if unit.start not in stayed]
    used = done.statistics.kept_tokens
    assert used <= budget
    assert used >= 0.7 * budget or used + shortest(left[-1], messages, policy) > budget


def test_C35_the_last_exchange_and_the_first_words_are_sent_beyond_the_budget_and_reported() -> None:
    long = "word " * 2_000
    messages = (system(), user("Begin."), *agent_loop(6)[2:], user(long), assistant(long), user("And now?"))
    done = trimmed(messages, TrimPolicy(max_history_tokens=1_000))
    assert kept(done) == (messages[0], messages[1], *messages[-3:])
    assert done.statistics is not None
    assert done.statistics.kept_tokens > 3_000
    assert [note.did for note in done.rewrite.notes if "more than the budget" in note.did]
    windowed = trimmed(messages, TrimPolicy(max_history_tokens=1_000, window=2_000))  # the only harder limit
    assert windowed.statistics is not None
    assert windowed.statistics.kept_tokens <= 1_600
    assert kept(windowed)[-1] is messages[-1]


def shortest(unit: tuple[Message, ...], whole: tuple[Message, ...], policy: TrimPolicy) -> float:
    """What a unit costs if each of its texts has the fewest tokens that a shortened message may have."""
    scale = measure_for(Conversation(whole), TrimRequest(policy), "").bytes_per_token
    return sum(min(size.total, max(size.fixed, 50 * scale)) for size in measure(Conversation(unit)).sizes) / scale


def test_C37_statistics_and_notes_tell_what_was_cut() -> None:
    messages, policy = chat(60), TrimPolicy(max_history_tokens=4_000)
    done = trimmed(messages, policy)
    told = done.statistics
    assert told is not None
    assert told.original_tokens == pytest.approx(tokens(messages, policy), abs=2)
    assert told.kept_tokens == pytest.approx(tokens(kept(done), policy, messages), rel=0.05)
    assert told.dropped == len(messages) - len(kept(done))
    shortened = [message for message in kept(done) if any(message is old for old in messages)]
    assert told.shortened == len(kept(done)) - len(shortened)
    assert told.saved_tokens == told.original_tokens - told.kept_tokens
    assert told.saved_percent == pytest.approx(100 * told.saved_tokens / told.original_tokens, abs=0.1)
    assert len(done.rewrite.notes) == told.shortened + 1


@pytest.mark.parametrize("window", [4_000, pytest.param(8_000, marks=pytest.mark.slow)])
def test_an_endless_chain_of_calls_fits_the_window_and_keeps_its_task(window: int) -> None:
    policy = TrimPolicy(window=window)
    for messages in requests_of(agent_loop(120)):
        done = trimmed(messages, policy)
        assert tokens(kept(done), policy, messages) <= window * policy.context_budget
        assert kept(done)[1] is messages[1]
        assert kept(done)[-1] is messages[-1]
        assert pair(kept(done)).unanswered == []


@pytest.mark.parametrize("last", [system("Be brief."), Message(Role.DEVELOPER, (Text(b'"Be brief."'),))])
def test_a_history_that_ends_with_an_instruction_is_cut_too(last: Message) -> None:
    messages = (user("Read the file."), calls("a"), results("x " * 90_000, "a"), last)
    policy = TrimPolicy(window=8_000)
    done = trimmed(messages, policy)
    assert tokens(kept(done), policy, messages) <= 8_000 * policy.context_budget
    assert kept(done)[-1] is last
    later = trimmed((*messages, calls("b"), results("y", "b")), policy)
    assert later.cut == done.cut
    assert kept(later)[: len(kept(done))] == kept(done)


def test_no_cut_is_made_between_two_parts_of_one_answer() -> None:
    """The client sent no request there: it has nothing to keep."""
    asked = (*chat(8)[:-1], user("More. " * 90))
    answer = (assistant("Words. " * 2_000), *agent_loop(1)[2:])
    policy = TrimPolicy(max_history_tokens=0, window=4_000)
    assert trimmed(asked, policy).cut is None
    cut = trimmed((*asked, *answer), policy).cut
    assert cut is not None
    assert cut.units == len(units_of((*asked, *answer)))


def test_one_result_that_is_larger_than_the_window_is_shortened() -> None:
    messages = (
        user("Read the file."),
        Message(Role.ASSISTANT, (Call("a", "read", b"{}"),)),
        results("x " * 90_000, "a"),
    )
    policy = TrimPolicy(window=8_000)
    done = trimmed(messages, policy)
    assert tokens(kept(done), policy, messages) < 8_000
    assert kept(done)[:2] == messages[:2]


@pytest.mark.parametrize("messages", [agent_loop(150), chat(80)], ids=["chain of calls", "exchanges"])
def test_the_sent_prefix_stays_the_same_from_cut_to_cut(messages: tuple[Message, ...]) -> None:
    policy = TrimPolicy(max_history_tokens=4_000, window=8_000)
    before: tuple[Message, ...] = ()
    breaks = turns = 0
    for request in requests_of(messages):
        now = kept(trimmed(request, policy))
        breaks += now[: len(before)] != before
        turns += 1
        before = now
    assert 0 < breaks <= turns / 5


def test_a_cut_that_was_made_is_kept_though_estimates_have_changed() -> None:
    policy = TrimPolicy(max_history_tokens=4_000)
    messages = next(asked for asked in requests_of(chat(40)) if trimmed(asked, policy).cut is not None)
    first = trimmed(messages, policy)
    longer = (*messages, assistant("Fine."), user("More?"))
    for factor in (0.8, 1.15):
        assert first.cut is not None
        second = trim(Conversation(longer), TrimRequest(policy, (first.cut,), factor))
        assert kept(second)[: len(kept(first))] == kept(first)
    moved = trim(Conversation(longer), TrimRequest(policy, (), 1.4))
    assert kept(moved)[: len(kept(first))] != kept(first)


def test_a_cut_of_another_conversation_is_not_taken() -> None:
    policy = TrimPolicy(max_history_tokens=4_000)
    other = trimmed((user("Something else."), *chat(40)), policy).cut
    assert other is not None
    assert kept(trimmed(chat(40), policy, (other,))) == kept(trimmed(chat(40), policy))


def test_a_cut_can_be_written_down() -> None:
    cut = trimmed(chat(60), TrimPolicy(max_history_tokens=4_000)).cut
    assert cut is not None
    assert msgspec.json.decode(msgspec.json.encode(cut), type=Cut) == cut


@settings(deadline=None, max_examples=150)
@given(conversations(), st.integers(1, 400), st.integers(0, 600))
def test_pairs_hold_whatever_the_budget(asked: Asked, budget: int, window: int) -> None:
    conversation = read(asked.body, source=asked.dialect).conversation
    done = trim(
        conversation, TrimRequest(TrimPolicy(max_history_tokens=budget, window=window, keep_recent_exchanges=1))
    )
    before, after = pair(conversation.messages), pair(kept(done))
    assert len(after.unanswered) <= len(before.unanswered)
    assert len(after.orphans) <= len(before.orphans)
    systems = [message for message in conversation.messages if message.role in (Role.SYSTEM, Role.DEVELOPER)]
    assert [message for message in kept(done) if message.role in (Role.SYSTEM, Role.DEVELOPER)] == systems
    turns = [unit for unit in units_of(conversation.messages) if unit.kind is UnitKind.USER]
    stayed = {message.at for message in kept(done)}
    assert not turns or conversation.messages[turns[-1].start].at in stayed


def test_a_text_is_cut_between_characters() -> None:
    messages = (Message(Role.USER, (Text(quote("€" * 9_000)),)), assistant("ok"), *chat(30)[1:])
    done = trimmed(messages, TrimPolicy(max_history_tokens=6_000, old_message_max_tokens=333, keep_recent_exchanges=1))
    for message in kept(done):
        assert "\ufffd" not in words(message)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"max_history_tokens": -1}, "max_history_tokens must be a whole number from 0 to 1000000000"),
        ({"window": 10**400}, "window must be"),
        ({"keep_recent_exchanges": -3}, "keep_recent_exchanges must be"),
        ({"old_message_max_tokens": 10**400}, "old_message_max_tokens must be"),
        ({"context_budget": float("inf")}, "context_budget is inf; it must be above 0 and up to 1"),
        ({"context_budget": 0.0}, "context_budget is 0.0"),
        ({"step": float("nan")}, "step is nan; it must be above 0 and below 1"),
        ({"step": 1.0}, "step is 1.0"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        TrimPolicy(**wrong)  # type: ignore[arg-type]
