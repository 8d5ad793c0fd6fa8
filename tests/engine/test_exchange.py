"""The exchange as a value: steps out, answers in, and what it has to report, without a socket or a clock (K19, K20)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.conversation.changes import Loss
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Opaque, Origin
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.exchange.attempts import MAX_CORRECTIONS, RetryPolicy
from dragoman.engine.exchange.caller_options import NOTHING_SET, CallerOptions
from dragoman.engine.exchange.destination import Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.offline_driver import first_send
from dragoman.engine.exchange.steps import (
    ENDS,
    NOTHING_RECALLED,
    Answered,
    AttemptFailed,
    Choose,
    FetchMedia,
    GaveUp,
    Reading,
    Recall,
    Recalled,
    Send,
    Step,
    Streaming,
    Wait,
)
from dragoman.engine.library.adapt import choose, read
from dragoman.errors import RepairRefused
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Layer, patch_target

HI = {"role": "user", "content": "Hi"}
MOODY = {**HI, "mood": "good"}
GOOD = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }
).encode()
Reply = tuple[int, bytes] | Failure


def refused(message: str, status: int = 400, **more: Any) -> Reply:
    return status, json.dumps({"error": {"message": message, **more}}).encode()


OTHER_LIMIT = refused("'max_tokens' is not supported. Use 'max_completion_tokens' instead.")


def destination(target: str = "openai/gpt-4o", **more: Any) -> Destination:
    found = choose(target)
    return Destination(name=target, provider=found.profile.name, target=found, **more)


def doubted(**more: Any) -> Destination:
    """Nobody knows whether it refuses keys that it does not know."""
    return destination("together/x", **more)


def exchange(*route: Destination, options: CallerOptions | None = None, **fields: Any) -> Exchange[Destination]:
    reserved = fields.pop("reserved", {})
    ask = read({"model": "m", "messages": [HI], **fields}, source="openai-chat")
    context = AnswerContext(model="m", id="req_1")
    found = TargetRoute(route or (destination(),), reserved)
    return Exchange(ask, found, context, options or NOTHING_SET, splits=True)


class Driver:
    """Carries out the steps of one exchange against a provider that is a function; every step is noted."""

    def __init__(self, exchange: Exchange[Destination], provider: Callable[[Send[Destination]], Reply]) -> None:
        self.exchange = exchange
        self.provider = provider
        self.steps: list[Any] = []
        self.kept: dict[str, Any] = {}
        self.media: dict[str, bytes] = {}

    def run(self) -> Any:
        step: Step[Destination] = self.exchange.start()
        while True:
            self.steps.append(step)
            if isinstance(step, ENDS):
                return step
            step = self._next(step)

    def _next(self, step: Step[Destination]) -> Step[Destination]:
        match step:
            case Choose(candidates):
                return self.exchange.chosen(candidates[0])
            case Recall():
                return self.exchange.recalled(Recalled(self.kept))
            case FetchMedia(urls):
                return self.exchange.fetched({url: self.media[url] for url in urls if url in self.media})
            case Send():
                return self._send(step)
            case AttemptFailed() | Wait():
                return self.exchange.resume(0.5)
            case _:
                raise AssertionError(step)

    def _send(self, send: Send[Destination]) -> Step[Destination]:
        reply = self.provider(send)
        if isinstance(reply, Failure):
            return self.exchange.failed(reply)
        status, body = reply
        if self.exchange.head(status) is not Reading.PIECES:
            return self.exchange.body(body)
        step = self.exchange.piece(body) or self.exchange.piece(None)
        assert step is not None
        return step

    def names(self) -> list[str]:
        return [type(step).__name__ for step in self.steps]

    def sent(self) -> list[Any]:
        return [step.request.json for step in self.steps if isinstance(step, Send)]


def driven(asked: Exchange[Destination], *replies: Reply) -> Driver:
    """A run against replies in their order, and good ones after them."""
    waiting = list(replies)
    driver = Driver(asked, lambda send: waiting.pop(0) if waiting else (200, GOOD))
    driver.run()
    return driver


def test_a_plain_question_takes_three_steps() -> None:
    driver = driven(exchange())
    assert driver.names() == ["Choose", "Send", "Answered"]
    asked = driver.exchange
    assert driver.steps[-1] == Answered(GOOD)
    assert asked.usage is not None
    assert (asked.attempts.sends, asked.changes, asked.lessons, asked.failure) == (1, (), (), None)
    assert (asked.usage.input, asked.usage.output) == (3, 2)
    assert asked.state_to_keep() is None


SERVER = refused("Oh no.", 503)
LIMITED = refused("Slow down.", 429)
ONE_KEY = destination(policy=RetryPolicy(jitter=False))
KEYS = destination(key_count=3)

# what the provider says, in order; the steps after the first send; the words that the client gets
FAILURES: list[tuple[str, Exchange[Destination], list[Reply], list[str], str]] = [
    (
        "what may pass is tried again, and the waits grow",
        exchange(ONE_KEY),
        [SERVER, SERVER, SERVER],
        ["AttemptFailed", "Wait", "Send", "AttemptFailed", "Wait", "Send", "AttemptFailed", "GaveUp"],
        "Oh no.",
    ),
    ("a network that breaks too", exchange(), [Failure(FailureKind.NETWORK, "broke")], ["AttemptFailed", "Wait"], ""),
    ("garbage is a failure", exchange(), [(200, b"<html>")], ["AttemptFailed", "Wait"], ""),
    ("what is not known to pass is not", exchange(), [refused("No.", 404)], ["AttemptFailed", "GaveUp"], "No."),
    ("another key is tried at once", exchange(KEYS), [LIMITED], ["AttemptFailed", "Send", "Answered"], ""),
    (
        "as long as there are keys",
        exchange(KEYS),
        [refused("Bad key.", 401)] * 3,
        ["AttemptFailed", "Send", "AttemptFailed", "Send", "AttemptFailed", "GaveUp"],
        "Bad key.",
    ),
    ("a refusal without doubt is final", exchange(), [refused("No.")], ["AttemptFailed", "GaveUp"], "No."),
]


@pytest.mark.parametrize(
    ("asked", "replies", "steps", "says"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_after_a_failure(asked: Exchange[Destination], replies: list[Reply], steps: list[str], says: str) -> None:
    driver = driven(asked, *replies)
    assert driver.names()[2 : 2 + len(steps)] == steps
    if says:
        assert driver.steps[-1].failure.message == says
    assert asked.attempts.sends == len(driver.sent())


def test_keys_are_taken_in_turn_from_the_one_that_was_chosen() -> None:
    asked = exchange(KEYS)
    asked.chosen(KEYS, key=1)
    keys = []
    for _ in range(3):
        asked.head(401)
        failed = asked.body(b"Bad key.")
        assert isinstance(failed, AttemptFailed)
        keys.append(failed.key)
        asked.resume()
    assert keys == [1, 2, 0]


def test_another_key_is_not_another_try() -> None:
    asked = exchange(destination(key_count=2, policy=RetryPolicy(attempts=2)))
    driver = driven(asked, LIMITED, SERVER)
    assert driver.names()[2:] == ["AttemptFailed", "Send", "AttemptFailed", "Wait", "Send", "Answered"]


def test_a_context_that_is_too_long_is_told_with_numbers() -> None:
    asked = exchange(destination("gemini-openai/gemini-2.5-flash"))
    (*_, end) = driven(asked, refused("Too long.", code="context_length_exceeded")).steps
    assert (end.failure.limit, end.failure.tokens) == (1_048_576, 1_048_577)
    assert "the number of tokens is an estimate" in end.failure.message


def test_waits_are_those_of_the_policy() -> None:
    driver = driven(exchange(destination(policy=RetryPolicy(jitter=False))), SERVER, SERVER)
    assert [step.seconds for step in driver.steps if isinstance(step, Wait)] == [1.0, 2.0]


def test_the_next_target_is_compiled_for_afresh() -> None:
    asked = exchange(destination(), destination("anthropic/claude-sonnet-4-5"), seed=3)
    first, second, *_ = driven(asked, refused("Gone.", 404)).sent()
    assert first == {"model": "gpt-4o", "messages": [HI], "seed": 3}
    assert second == {"model": "claude-sonnet-4-5", "messages": [HI], "max_tokens": second["max_tokens"]}
    assert asked.destination is not None
    assert asked.destination.name == "anthropic/claude-sonnet-4-5"


def test_a_target_that_is_reserved_for_a_failure_goes_first() -> None:
    first, usual, reserved = destination(), destination("together/usual"), destination("together/reserved")
    asked = exchange(first, usual, reserved={FailureKind.RATE_LIMIT: (reserved,)})
    driver = driven(asked, LIMITED)
    assert driver.names() == ["Choose", "Send", "AttemptFailed", "Choose", "Send", "Answered"]
    assert driver.steps[3].candidates == (reserved, usual)


def test_a_lesson_is_proved_by_the_answer() -> None:
    asked = exchange(destination("openai-compatible-lenient/x"), max_tokens=7)
    driver = driven(asked, OTHER_LIMIT)
    assert [sorted(body) for body in driver.sent()] == [
        ["max_tokens", "messages", "model"],
        ["max_completion_tokens", "messages", "model"],
    ]
    assert asked.lessons == ("limit-name",)
    assert [learnt.facts for learnt in asked.learnt] == [{"limit_name": "max_completion_tokens"}]


def test_a_lesson_whose_request_is_refused_too_proves_nothing() -> None:
    asked = exchange(destination("openai-compatible-lenient/x"), max_tokens=7)
    driver = driven(asked, OTHER_LIMIT, refused("No limits here."))
    assert driver.names()[-1] == "GaveUp"
    assert (asked.lessons, asked.learnt) == (("limit-name",), ())


def test_what_holds_for_this_conversation_alone_is_not_worth_remembering() -> None:
    asked = exchange(destination("openai-compatible-lenient/x"), max_tokens=7)
    driven(asked, refused("max_tokens: too many", 422))
    assert (asked.lessons, asked.learnt) == (("limit-refused",), ())


def test_a_lesson_that_changes_nothing_here_is_not_sent_again() -> None:
    asked = exchange()
    driver = driven(asked, refused("Unknown parameter: 'frobnicate'."))
    assert driver.names() == ["Choose", "Send", "AttemptFailed", "GaveUp"]
    assert (asked.lessons, asked.learnt) == ((), ())


def test_nor_does_it_prove_anything_when_the_same_body_is_accepted_later() -> None:
    asked = exchange()
    driver = driven(asked, refused("Unknown parameter: 'frobnicate'.", 500))
    assert driver.names() == ["Choose", "Send", "AttemptFailed", "Wait", "Send", "Answered"]
    assert (asked.lessons, asked.learnt) == ((), ())


def test_tries_are_counted_for_each_body() -> None:
    asked = exchange(destination("openai-compatible-lenient/x", policy=RetryPolicy(attempts=2)), max_tokens=7)
    driver = driven(asked, SERVER, OTHER_LIMIT, SERVER)
    assert isinstance(driver.steps[-1], Answered)
    assert asked.attempts.sends == 4


def test_corrections_are_bounded() -> None:
    names = [f"field_{number}" for number in range(12)]
    asked = exchange(**dict.fromkeys(names, 1))
    waiting = [refused(f"Unknown parameter: '{name}'.") for name in names]
    driver = driven(asked, *waiting)
    assert len(driver.sent()) == 1 + MAX_CORRECTIONS + 1  # the last one with care
    assert isinstance(driver.steps[-1], GaveUp)


def test_care_helps_and_is_proved() -> None:
    asked = exchange(doubted(), messages=[MOODY])
    driver = driven(asked, refused("I do not like it."))
    assert ["mood" in body["messages"][0] for body in driver.sent()] == [True, False]
    assert asked.lessons == ("careful",)
    (learnt,) = asked.learnt
    assert (learnt.facts, learnt.tentative) == ({"unknown_fields": "refuses"}, True)
    assert [change.rule for change in asked.changes] == ["stray-field"]


def test_where_care_is_refused_too_the_client_gets_the_first_refusal() -> None:
    asked = exchange(doubted(), messages=[MOODY])
    driver = driven(asked, refused("First."), refused("Second."))
    assert driver.steps[-1].failure.message == "First."
    assert (len(driver.sent()), asked.learnt, asked.changes) == (2, (), ())


def test_care_that_changes_nothing_is_not_sent() -> None:
    assert len(driven(exchange(), refused("First.")).sent()) == 1


def test_care_stays_within_what_may_be_lost() -> None:
    asked = exchange(doubted(), messages=[MOODY], options=CallerOptions(max_loss=Loss.NOTHING))
    driver = driven(asked, refused("First."))
    assert len(driver.sent()) == 1
    assert driver.steps[-1].failure.message == "First."


def test_care_is_taken_once_for_each_request() -> None:
    asked = exchange(doubted(), destination("xai/x"), messages=[MOODY])
    driver = driven(asked, *[refused("Oh no.", 500)] * 9)
    names = [step.destination.name for step in driver.steps if isinstance(step, Send)]
    assert names == ["together/x"] * 6 + ["xai/x"] * 3
    assert ["mood" in body["messages"][0] for body in driver.sent()] == [True] * 3 + [False] * 3 + [True] * 3


def test_a_server_that_says_what_it_broke_on_is_sent_the_careful_body_next() -> None:
    driver = driven(exchange(doubted(), messages=[MOODY]), refused("'NoneType' object is not iterable", 500))
    assert isinstance(driver.steps[-1], Answered)
    assert ["mood" in body["messages"][0] for body in driver.sent()] == [True, False]


def test_it_is_asked_again_as_usual_if_care_changes_nothing() -> None:
    driver = driven(exchange(), refused("KeyError: 'x'", 500))
    assert isinstance(driver.steps[-1], Answered)
    assert len(driver.sent()) == 2


def test_a_careful_body_that_meets_a_tired_server_is_tried_again() -> None:
    asked = exchange(doubted(), messages=[MOODY])
    driver = driven(asked, refused("First."), SERVER)
    assert isinstance(driver.steps[-1], Answered)
    assert len(driver.sent()) == 3


def test_a_caller_that_is_careful_leaves_no_doubt() -> None:
    asked = exchange(doubted(), messages=[MOODY], options=CallerOptions(doubt=Doubt.CAREFUL))
    driver = driven(asked, refused("First."))
    assert len(driver.sent()) == 1
    assert "mood" not in driver.sent()[0]["messages"][0]


@pytest.mark.parametrize(
    ("own", "options", "careful"),
    [
        (Doubt.FAITHFUL, CallerOptions(doubt=Doubt.CAREFUL), True),
        (Doubt.CAREFUL, CallerOptions(doubt=Doubt.FAITHFUL), True),
        (Doubt.CAREFUL, CallerOptions(doubt=Doubt.FAITHFUL, loosen=True), False),
        (Doubt.CAREFUL, CallerOptions(), True),
    ],
)
def test_a_caller_may_only_tighten_unless_it_may_loosen(own: Doubt, options: CallerOptions, careful: bool) -> None:
    driver = driven(exchange(doubted(doubt=own), messages=[MOODY], options=options))
    assert ("mood" not in driver.sent()[0]["messages"][0]) is careful


@pytest.mark.parametrize(("loosen", "end"), [(False, GaveUp), (True, Answered)])
def test_nor_may_it_lose_more_than_the_destination_allows(loosen: bool, end: type) -> None:
    asked = exchange(
        destination("openai-compatible-strict/x", max_loss=Loss.NOTHING),
        messages=[MOODY],
        options=CallerOptions(max_loss=Loss.CONTENT, loosen=loosen),
    )
    assert isinstance(driven(asked).steps[-1], end)


def test_a_target_that_cannot_be_asked_is_passed_over() -> None:
    strict = destination("anthropic/claude-sonnet-4-5", max_loss=Loss.NOTHING)
    driver = driven(exchange(strict, destination(), seed=3))
    assert driver.names() == ["Choose", "Choose", "Send", "Answered"]


def test_where_nobody_can_be_asked_the_repair_is_named() -> None:
    asked = exchange(destination("anthropic/claude-sonnet-4-5", max_loss=Loss.NOTHING), seed=3)
    driver = driven(asked)
    (end,) = [step for step in driver.steps if isinstance(step, GaveUp)]
    assert (end.failure.status, end.failure.code) == (422, "refused-setting")
    assert isinstance(end.fault, RepairRefused)
    with pytest.raises(RepairRefused):
        first_send(exchange(destination("anthropic/claude-sonnet-4-5", max_loss=Loss.NOTHING), seed=3))


def test_a_correction_that_would_lose_too_much_is_named_and_not_sent() -> None:
    asked = exchange(destination("openai-compatible-lenient/x", max_loss=Loss.NOTHING), frobnicate=1)
    driver = driven(asked, refused("Unknown parameter: 'frobnicate'."))
    assert driver.names() == ["Choose", "Send", "AttemptFailed", "GaveUp"]
    assert driver.steps[-1].failure.status == 422
    assert "refused-setting" in driver.steps[-1].failure.message


def test_what_was_kept_is_asked_for_before_anything_is_compiled() -> None:
    history = [HI, {"role": "assistant", "content": "Hello."}, HI]
    asked = exchange(destination("gemini/gemini-3-pro-preview"), messages=history)
    recall = asked.chosen(destination("gemini/gemini-3-pro-preview"))
    assert isinstance(recall, Recall)
    (key,) = recall.keys
    assert (recall.provider, recall.scope, key[:5]) == ("gemini", "gemini-3-pro-preview", "text-")
    state = Opaque(
        "thought_signature", b'"c2lnbmVkc2lnbmVkc2lnbmVk"', Origin("gemini", "gemini", "gemini-3-pro-preview")
    )
    send = asked.recalled(Recalled({key: (state,)}))
    assert isinstance(send, Send)
    assert send.request.json["contents"][1]["parts"][0]["thoughtSignature"] == "c2lnbmVkc2lnbmVkc2lnbmVk"


@pytest.mark.parametrize(
    ("target", "words_too"),
    [("gemini/gemini-3-pro-preview", True), ("anthropic/claude-sonnet-4-5", False), ("openai-responses/gpt-5", False)],
)
def test_words_beside_a_call_are_asked_for_if_they_may_be_signed(target: str, words_too: bool) -> None:
    call = {"id": "call_Xk29a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    spoken = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    history = [HI, {"role": "assistant", "content": "Hello."}, HI, spoken]
    history.append({"role": "tool", "tool_call_id": "call_Xk29a", "content": "12"})
    recall = exchange(destination(target), messages=history).chosen(destination(target))
    assert isinstance(recall, Recall)
    call_id, *words = recall.keys
    assert call_id == "call_Xk29a"
    assert len(words) == (2 if words_too else 1)
    assert all(key.startswith("text-") for key in words)


PICTURE = "http://pictures.test/one.png"


def test_media_is_asked_for_once() -> None:
    parts = [{"type": "image_url", "image_url": {"url": PICTURE}}]
    claude = destination("anthropic/claude-sonnet-4-5")
    driver = driven(exchange(claude, messages=[{"role": "user", "content": parts}]))
    assert driver.names()[:3] == ["Choose", "FetchMedia", "Send"]
    assert PICTURE in json.dumps(driver.sent()[0])
    found = exchange(claude, messages=[{"role": "user", "content": parts}])
    with_media = Driver(found, lambda send: (200, GOOD))
    with_media.media[PICTURE] = b"\x89PNG..."
    with_media.run()
    assert with_media.sent()[0]["messages"][0]["content"][0]["source"]["media_type"] == "image/png"


def test_options_and_omissions_of_the_destination_are_reported() -> None:
    driver = driven(exchange(destination(options={"temperature": 0.2}, omit=("seed",)), seed=3))
    assert driver.sent() == [{"model": "gpt-4o", "messages": [HI], "temperature": 0.2}]
    assert [change.did for change in driver.exchange.changes] == [
        "left out seed as configured",
        "set temperature as configured",
    ]


def test_what_was_learnt_before_comes_with_the_choice() -> None:
    asked, one = exchange(max_tokens=7), destination("openai-compatible-lenient/x")
    learnt = patch_target(one.target, Layer("lessons", {"limit_name": "max_completion_tokens"}))
    send = asked.chosen(one, learnt)
    assert isinstance(send, Send)
    assert send.request.json["max_completion_tokens"] == 7


SECRET = "sk-very-secret"
HIDDEN = Redaction(lambda text: text.replace(SECRET, "***"), lambda data: data.replace(SECRET.encode(), b"***"))


def test_a_provider_that_repeats_our_key_is_not_repeated() -> None:
    ask = read({"model": "m", "messages": [HI]}, source="openai-chat")
    asked = Exchange(ask, TargetRoute((destination(),)), AnswerContext(), redaction=HIDDEN)
    driver = driven(asked, refused(f"Bad key {SECRET}", 401))
    assert [step.failure.message for step in driver.steps if hasattr(step, "failure")] == ["Bad key ***"] * 2


def frame(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({**CHUNK, "choices": [choice]}).encode() + b"\n\n"


CHUNK = {"id": "c", "object": "chat.completion.chunk"}
STOPPED = json.dumps({**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).encode()
ENDING = b"data: " + STOPPED + b"\n\ndata: [DONE]\n\n"


def opened(target: str = "openai/gpt-4o") -> Exchange[Destination]:
    """An exchange whose stream has begun to come."""
    asked = exchange(destination(target), stream=True)
    step: Any = asked.chosen(destination(target))
    if isinstance(step, Recall):
        asked.recalled(NOTHING_RECALLED)
    assert asked.head(200) is Reading.PIECES
    return asked


def test_a_stream_opens_with_the_first_event_for_the_client() -> None:
    asked = opened()
    assert asked.piece(b": wait\n\n") is None
    assert asked.piece(frame(content="Y")[:20]) is None
    step = asked.piece(frame(content="Y")[20:])
    assert isinstance(step, Streaming)
    assert step.first == b": wait\n\n" + frame(content="Y")
    assert not step.over
    assert step.translation.feed(ENDING) + step.translation.close() == ENDING
    assert asked.stream_ended() is None
    assert asked.stop == "end"


def test_an_error_before_the_first_event_is_a_failed_attempt() -> None:
    asked = opened()
    failed = asked.piece(b'data: {"error":{"message":"Slow down.","code":429}}\n\n')
    assert isinstance(failed, AttemptFailed)
    assert isinstance(asked.resume(0.5), Wait)


def test_an_error_after_it_is_the_end_of_the_stream() -> None:
    asked = opened()
    step = asked.piece(frame(content="Y"))
    assert isinstance(step, Streaming)
    broken = step.translation.fail(Failure(FailureKind.TIMEOUT, "No answer for 60 s."))
    assert b"No answer for 60 s." in broken
    failed = asked.stream_ended()
    assert failed is not None
    assert asked.failure == failed.failure


def test_a_stream_that_ends_before_it_begins_is_a_failed_attempt() -> None:
    asked = opened()
    assert isinstance(asked.piece(None), AttemptFailed)


def test_a_driver_can_cut_a_stream() -> None:
    asked = opened()
    assert isinstance(asked.piece(frame(content="Y")), Streaming)
    going = Failure(FailureKind.OVERLOADED, "going away", 503)
    assert b"going away" in asked.cut(going)
    assert asked.failure is going


def test_what_to_keep_is_handed_out_with_its_place() -> None:
    asked = opened("gemini/gemini-3-pro-preview")
    call = {
        "functionCall": {"id": "call_Xk29a", "name": "f", "args": {}},
        "thoughtSignature": "c2lnbmVkc2lnbmVkc2lnbmVk",
    }
    candidate = {"index": 0, "content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}
    step = asked.piece(b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\r\n\r\n")
    assert isinstance(step, Streaming)
    step.translation.close()
    kept = asked.state_to_keep()
    assert kept is not None
    assert (kept.provider, kept.scope, list(kept.states)) == ("gemini", "gemini-3-pro-preview", ["call_Xk29a"])
