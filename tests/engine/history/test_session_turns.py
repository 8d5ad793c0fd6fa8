"""What the session sent last: which change breaks the cache of it, what that costs, and why a prompt was sent again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.conversation.replies import Usage
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.history import session_turns
from dragoman.engine.history.session_turns import (
    CacheOutcome,
    SessionTurns,
    blame,
    find_break,
    is_sent_as_it_came,
    price_of,
)
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest
from dragoman.engine.library.adapt import BUILTIN, read
from dragoman.profiles.prices import TokenPrice

OPUS, GPT = "anthropic/claude-opus-4-1", "openai/gpt-4o"
PRICE = TokenPrice(3, 15, 0.3, 3.75)
SYSTEM = {"role": "system", "content": "Be careful. " * 100}


_STRICT = {
    "type": "function",
    "function": {"name": "look", "strict": True, "parameters": {"type": "object", "properties": {"a": {"const": 1}}}},
}


def turns(count: int, words: str = "Some words about tiles. ") -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "Begin. " * 50}]
    for at in range(count):
        said.append({"role": "assistant", "content": f"{at}. {words * 20}"})
        said.append({"role": "user", "content": f"Go on after {at}. {words * 20}"})
    return [SYSTEM, *said]


def asked(messages: list[dict[str, Any]], **more: Any) -> Ask:
    return read({"model": "m", "messages": messages, **more}, source="openai-chat")


def compiled(ask: Ask, target: str = OPUS, options: Options | None = None) -> CompiledRequest:
    return compile_ask(ask, BUILTIN.target(target), options or Options())


class Session:
    """A caller's session at one provider."""

    def __init__(self, target: str = OPUS, price: TokenPrice | None = PRICE) -> None:
        self.now = 0.0
        self.turns = SessionTurns(lambda: self.now)
        self.target = target
        self.price = price

    @property
    def place(self) -> Destination:
        return Destination(name=self.target, provider="p", target=BUILTIN.target(GPT), price=self.price)

    def answer(self, request: CompiledRequest, usage: Usage, seconds: float = 10.0) -> CacheOutcome:
        self.now += seconds
        return self.turns.note("ann", request, usage, self.place)

    def report(self, request: CompiledRequest) -> list[str]:
        """What the changes say about the cache."""
        before = self.turns.find("ann", request.ask)
        assert before is not None
        broken = find_break(before, request, self.place)
        changes = request.changes if broken is None else blame(before, broken, request)
        return [f"{one.rule} {one.at}: {one.did}" for one in changes if "breaks the cache" in one.did]


WRITTEN = Usage(9_000, 100, 0, 9_000)


def test_a_change_that_moves_what_was_sent_says_what_it_costs() -> None:
    """A late system message that an older Claude gets in its opening."""
    session, said = Session(), turns(6)
    session.answer(compiled(asked(said)), WRITTEN)
    late = compiled(
        asked([*said, {"role": "assistant", "content": "Yes."}, {"role": "system", "content": "Be brief."}])
    )
    (told,) = session.report(late)
    assert told.startswith(
        "late-system /messages/15: moved to the opening; breaks the cache before the first message: "
    )
    tokens = int(told.rpartition(": ")[2].partition(" ")[0].replace(",", ""))
    assert told.endswith(f"{tokens:,} tokens, about ${price_of(tokens, PRICE):.2g} more")
    assert tokens * (3.75 - 0.3) / 1e6 == pytest.approx(price_of(tokens, PRICE))


def test_a_setting_is_not_blamed_for_what_a_message_does() -> None:
    """It was left out the turn before, too, but then nothing of the conversation was changed."""
    session, said = Session(), turns(6)
    session.answer(compiled(asked(said, chat_id="a")), WRITTEN)
    late = [*said, {"role": "assistant", "content": "Yes."}, {"role": "system", "content": "Be brief."}]
    request = compiled(asked(late, chat_id="a"))
    assert [one.at for one in request.changes if one.rule == "refused-setting"] == ["/chat_id"]
    (told,) = session.report(request)
    assert told.startswith("late-system /messages/15: ")


@pytest.mark.parametrize(
    ("more", "late", "as_it_came"),
    [
        ({}, None, True),
        ({"chat_id": "a"}, None, True),
        ({}, {"role": "system", "content": "Be brief."}, False),
        ({"chat_id": "a"}, {"role": "system", "content": "Be brief."}, False),
        ({"chat_id": "a", "tools": [_STRICT]}, None, False),
    ],
)
def test_settings_are_no_part_of_what_is_sent_as_it_came(
    more: dict[str, Any], late: dict[str, Any] | None, as_it_came: bool
) -> None:
    said = turns(2) if late is None else [*turns(2), {"role": "assistant", "content": "Yes."}, late]
    request = compiled(asked(said, **more))
    assert is_sent_as_it_came(request) is as_it_came
    assert any(one.at == "/chat_id" for one in request.changes) is ("chat_id" in more)


def test_a_hint_that_is_taken_off_is_no_part_of_it_either() -> None:
    text = {"type": "text", "text": "Begin.", "cache_control": {"type": "ephemeral"}}
    messages = [{"role": "user", "content": [text]}]
    ask = read({"model": "m", "max_tokens": 9, "messages": messages}, source="anthropic")
    request = compiled(ask, GPT)
    assert [one.rule for one in request.changes] == ["refused-hint"]
    assert is_sent_as_it_came(request)


def test_a_client_that_changes_its_system_text_is_named_before_a_change_of_ours() -> None:
    session, said = Session(), turns(6)
    session.answer(compiled(asked(said)), WRITTEN)
    other = {"role": "system", "content": "It is noon. " + str(said[0]["content"])}
    late = [other, *said[1:], {"role": "assistant", "content": "Yes."}, {"role": "system", "content": "Be brief."}]
    request = compiled(asked(late))
    before = session.turns.find("ann", request.ask)
    assert before is not None
    broken = find_break(before, request, session.place)
    assert broken is not None
    use = session.answer(replace(request, changes=blame(before, broken, request)), Usage(9_000, 1))
    assert use.why == "the client changed message 1, a system text"


@pytest.mark.parametrize(("tokens", "resent"), [(3_000, 0), (5_000, 5_000)])
def test_a_prompt_that_is_too_short_to_be_cached_is_not_missed(tokens: int, resent: int) -> None:
    session = Session("gemini/gemini-2.5-pro", TokenPrice(1.25, 10, 0.125))
    for at in (6, 7):
        use = session.answer(compiled(asked(turns(at)), session.target), Usage(tokens, 1))
    assert use.resent == resent


def test_it_says_so_once() -> None:
    session, said = Session(), turns(6)
    more = [*said, {"role": "assistant", "content": "Yes."}, {"role": "system", "content": "Be brief."}]
    session.answer(compiled(asked(said)), WRITTEN)
    session.answer(compiled(asked(more)), WRITTEN)
    assert session.report(compiled(asked([*more, {"role": "user", "content": "Go on."}]))) == []


def test_hints_that_move_along_break_nothing() -> None:
    session = Session("anthropic/claude-sonnet-4-6")
    marked = Options(sent_before=2)  # type: ignore[arg-type]
    session.answer(compiled(asked(turns(6)), session.target, marked), WRITTEN)
    request = compiled(asked(turns(7)), session.target, marked)
    assert request.changes
    assert session.report(request) == []


def test_a_cut_says_what_it_costs_and_the_same_cut_does_not() -> None:
    session = Session(GPT, TokenPrice(2.5, 10, 1.25))
    trims = TrimRequest(TrimPolicy(max_history_tokens=1_500))
    whole = compiled(asked(turns(12)), GPT)
    session.answer(whole, Usage(5_000, 100))
    cut = compiled(asked(turns(13)), GPT, Options(history=trims))
    (told,) = session.report(cut)
    assert told.startswith("history-trim /messages/1: shortened ")
    assert "; breaks the cache after message 1: 1," in told
    session.answer(cut, Usage(2_000, 100))
    assert cut.cut is not None
    again = compiled(asked(turns(13)), GPT, Options(history=replace(trims, cuts=(cut.cut,))))
    assert session.report(again) == []


def test_another_form_of_the_same_tools_breaks_all() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    session, ask = Session(GPT), asked(turns(8), tools=[tool])
    request = compiled(ask, GPT)
    session.answer(request, Usage(2_000, 100))
    (only,) = request.conversation.tools
    other = replace(request.conversation, tools=(replace(only, description=b'"Other."'),))
    before = session.turns.find("ann", ask)
    assert before is not None
    broken = find_break(before, replace(request, conversation=other), session.place)
    assert str(broken) == "breaks the cache before the first message: 2,000 tokens, about $0.0069 more"


@pytest.mark.parametrize(
    ("said", "usage", "seconds", "why"),
    [
        (turns(9), Usage(9_500, 1, 9_000), 10, ""),
        (turns(9), Usage(9_500, 1, 8_640), 10, ""),
        (turns(9), Usage(9_500, 1), 10, "the provider did not find it in its cache"),
        (turns(9), Usage(9_500, 1), 720, "12 minutes had passed since the turn before"),
        ([{**SYSTEM, "content": "It is noon."}, *turns(9)[1:]], Usage(9_500, 1), 10, "message 1, a system text"),
        ([*turns(9)[:4], {"role": "assistant", "content": ""}, *turns(9)[5:]], Usage(9_500, 1, 2_000), 10, "message 5"),
        (turns(9, "Other words of another conversation. "), Usage(9_500, 1), 10, ""),
        (turns(1), Usage(900, 1), 10, ""),
    ],
)  # fmt: skip
def test_why_a_prompt_was_sent_again(said: list[dict[str, Any]], usage: Usage, seconds: float, why: str) -> None:
    session = Session(GPT)
    session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1))
    use = session.answer(compiled(asked(said), GPT), usage, seconds)
    assert use.why.endswith(why)
    assert bool(use.why) is bool(why)
    assert use.resent == (9_000 - usage.cached if why else 0)
    assert use.lost == pytest.approx(use.resent * (3.75 - 0.3) / 1e6)


def test_a_client_that_changes_its_opening_every_time_is_named_although_nothing_is_written() -> None:
    session = Session("anthropic/claude-sonnet-4-6")

    def answer(count: int, stamp: str, usage: Usage) -> str:
        said = [{**SYSTEM, "content": f"It is {stamp}. {SYSTEM['content']}"}, *turns(count)[1:]]
        return session.answer(compiled(asked(said), session.target), usage).why

    assert answer(6, "noon", WRITTEN) == ""
    unmarked = [answer(6 + at, f"{at} o'clock", Usage(9_000, 100)) for at in range(1, 4)]
    assert unmarked == ["the client changed message 1, a system text"] * 3
    answer(10, "3 o'clock", Usage(9_000, 100, 0, 9_000))
    assert answer(11, "3 o'clock", Usage(9_500, 100, 9_000, 500)) == ""


def test_other_tools_another_target_and_our_own_change_are_named() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    session = Session(GPT)
    session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1))
    assert (
        session.answer(compiled(asked(turns(8), tools=[tool]), GPT), Usage(9_000, 1)).why
        == "the client changed its tools"
    )
    session.target = "openai/gpt-5"
    assert session.answer(compiled(asked(turns(0), tools=[tool]), GPT), Usage(9_000, 1)).why == ""
    session.target = GPT
    session.answer(compiled(asked(turns(8), tools=[tool]), GPT), Usage(9_000, 1))
    session.target = "openai/gpt-5"
    use = session.answer(compiled(asked(turns(8), tools=[tool]), GPT), Usage(9_000, 1))
    assert use.why == "openai/gpt-5 answered, and openai/gpt-4o the turn before"
    cut = compiled(
        asked(turns(9), tools=[tool]), GPT, Options(history=TrimRequest(TrimPolicy(max_history_tokens=1_500)))
    )
    before = session.turns.find("ann", cut.ask)
    assert before is not None
    broken = find_break(before, cut, session.place)
    assert broken is not None
    use = session.answer(replace(cut, changes=blame(before, broken, cut)), Usage(2_000, 1))
    assert use.why.startswith("history-trim at /messages/1 (shortened ")
    assert use.why.endswith("changed what comes after message 1")


def test_claude_has_what_was_written_and_not_what_was_sent() -> None:
    session, said = Session(), turns(8)
    assert session.answer(compiled(asked(said)), Usage(9_000, 1)).resent == 0
    assert session.answer(compiled(asked(said)), WRITTEN).resent == 0  # nothing was in the cache yet
    assert session.answer(compiled(asked(said)), Usage(9_000, 1)).why == "no cache hint was set"


def test_a_model_without_a_cheaper_cache_loses_nothing_unless_it_reads() -> None:
    session = Session(GPT, TokenPrice(1, 2))
    session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1))
    assert session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1)).resent == 0
    session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1, 9_000))
    assert session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1)).resent == 9_000


def test_what_the_cache_saved() -> None:
    session = Session()
    assert session.answer(compiled(asked(turns(8))), WRITTEN).saved == pytest.approx(-9_000 * 0.75 / 1e6)
    use = session.answer(compiled(asked(turns(8))), Usage(9_000, 1, 8_000))
    assert use.saved == pytest.approx(8_000 * 2.7 / 1e6)


def test_sessions_and_their_digests_are_bounded() -> None:
    place = Session(GPT).place
    many = SessionTurns(lambda: 0.0, most=5)
    long = SessionTurns(lambda: 0.0, digests=40)
    for at in range(20):
        request = compiled(asked(turns(8), session_id=f"s{at}"), GPT)
        many.note("ann", request, Usage(9_000, 1), place)
        long.note("ann", request, Usage(9_000, 1), place)
    assert (len(many), len(long)) == (5, 2)


def test_what_is_kept_of_changes_is_bounded_too() -> None:
    """A message may have thousands of parts, each of them changed."""
    parts = [{"type": "refusal", "refusal": "No."}] * 50
    messages = [*turns(2), {"role": "assistant", "content": parts}, {"role": "user", "content": "Why?"}]
    held = SessionTurns(lambda: 0.0, digests=2_000)
    for at in range(20):
        request = compiled(asked(messages, session_id=f"s{at}"))
        assert len(request.changes) > 50
        held.note("ann", request, Usage(9_000, 1), Session().place)
        held.note("ann", request, Usage(9_000, 1), Session().place)
    assert 1 <= len(held) <= 4


def test_callers_know_nothing_of_each_other() -> None:
    session = Session(GPT)
    session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1))
    assert session.turns.find("bob", asked(turns(8))) is None


def test_a_session_that_never_reads_is_not_compared_on_every_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same reason for many turns, and is told so."""
    looked: list[int] = []
    compare = session_turns.explain
    monkeypatch.setattr(session_turns, "explain", lambda *given: (looked.append(1), compare(*given))[1])
    session = Session(GPT)
    told = [session.answer(compiled(asked(turns(8)), GPT), Usage(9_000, 1)).why for _ in range(18)]
    assert told == ["", *["the provider did not find it in its cache"] * 17]
    assert len(looked) == 3


def test_agents_that_share_a_session_are_told_apart() -> None:
    session = Session(GPT)
    helper = [SYSTEM, {"role": "user", "content": "Look it up. " * 50}, *turns(8)[2:]]
    for said in (turns(8), helper, turns(9), helper):
        use = session.answer(compiled(asked(said, session_id="s"), GPT), Usage(9_000, 1, 9_000))
        assert (use.session, use.resent) == ("s", 0)
    assert len(session.turns) == 2
