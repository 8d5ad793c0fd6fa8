"""What a whole answer of another vendor lacks is added; every other byte stays."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.corpus import exchanges, sampled
from tests.strict_readers import Unacceptable, read

from dragoman import adapt
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.missing_members import CompleteObject, complete
from dragoman.engine.answer.translation import Translation

ASKED = AnswerContext(model="shown", created=1_700_000_000, id="req_1")
INNER = CompleteObject(added={"z": b"null"}, never_null=frozenset({"gone", "away"}))
SHAPE = CompleteObject(added={"new": b"1"}, inside={"one": INNER, "many": INNER}, kinds={"text": INNER})

CASES = {
    b"{}": b'{"new":1}',
    b'{"new":2}': b'{"new":2}',
    b' { "a" : [1, 2] } \n': b' { "a" : [1, 2] ,"new":1} \n',
    b'{"new":0,"one":{"a":"}{\\"gone\\":null"}}': b'{"new":0,"one":{"a":"}{\\"gone\\":null","z":null}}',
    b'{"new":0,"one":{"gone":null}}': b'{"new":0,"one":{"z":null}}',
    b'{"new":0,"one":{"gone":null, "away": null, "z": 1}}': b'{"new":0,"one":{"z": 1}}',
    b'{"new":0,"one":{"z": 1 , "gone": null , "b":2}}': b'{"new":0,"one":{"z": 1 , "b":2}}',
    b'{"new":0,"many":[{"z":1}, {} ,{"gone":[]}]}': b'{"new":0,"many":[{"z":1}, {"z":null} ,{"gone":[],"z":null}]}',
    b'{"type":"text","new":0}': b'{"type":"text","new":0,"z":null}',
    b'{"new":0,"one":null,"many":"text"}': b'{"new":0,"one":null,"many":"text"}',
    b'{"new":0,"one":{"a":1},"one":{}}': b'{"new":0,"one":{"a":1},"one":{}}',
    b"no JSON": b"no JSON",
    b"": b"",
}


@pytest.mark.parametrize("body", CASES)
def test_only_what_is_missing_is_added(body: bytes) -> None:
    assert complete(body, SHAPE) == CASES[body]


@pytest.mark.parametrize(
    ("given", "left"), [(b',"annotations":null', b""), (b',"annotations":[]', b',"annotations":[]')]
)
def test_a_chat_answer_keeps_annotations_unless_they_are_null(given: bytes, left: bytes) -> None:
    head = b'{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":'
    tail = b'},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
    body = head + b'"assistant","content":"x","refusal":null%b' + tail
    translation = Translation("openai-chat", "openai-chat", context=ASKED, completes=True)
    assert translation.whole(body % given) == body % left


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["one", "many", "gone", "away", "type", "z", "new", 'ü"\\']), inner, max_size=5
        )
    ),
    max_leaves=12,
)


def plainly(value: Any, shape: CompleteObject) -> Any:
    """The same on decoded values."""
    if isinstance(value, list):
        return [plainly(item, shape) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    shapes = [shape, *([shape.kinds[kind]] if isinstance(kind, str) and kind in shape.kinds else [])]
    for one in shapes:
        value = {key: plainly(item, one.inside[key]) if key in one.inside else item for key, item in value.items()}
        value = {key: item for key, item in value.items() if item is not None or key not in one.never_null}
        value |= {key: orjson.loads(item) for key, item in one.added.items() if key not in value}
    return value


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(JSON, st.sampled_from([0, orjson.OPT_INDENT_2]))
def test_the_text_says_what_the_values_would(value: Any, spelling: int) -> None:
    body = orjson.dumps(value, option=spelling)
    done = complete(body, SHAPE)
    assert orjson.loads(done) == plainly(value, SHAPE)
    assert complete(done, SHAPE) == done


# Recorded answers of other vendors that the strictest client refuses for more than a missing member.
BEYOND = {
    "the content is no text": "Mistral writes its content as parts if it thinks",
    "finish_reason is": "a word of the vendor's own",
    "completion.object": "a word of the vendor's own",
    "the tokens do not add up": "the vendor counts reasoning apart",
    "annotation": "an annotation of the vendor's own type",
    "an empty list of calls": "written out by the vendor",
    "calls, and the reason to": "the tool was forced, or the vendor says so",
    "the same id of an item twice": "written so by xAI",
    "reasoning setting is no object": "the text of the reasoning instead of the setting",
    "response.top_p is null": "xAI writes null instead of the number of Open Responses",
    "the status": "not answered yet",
}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_recorded_answers_of_other_vendors_are_complete(dialect: str) -> None:
    counts: Counter[str] = Counter()
    faults = []
    for exchange in exchanges(f"*.{dialect}.jsonl"):
        response = exchange["response"]
        if response["kind"] != "json" or response["status"] >= 400 or not sampled(exchange["id"], 2):
            continue
        if response["body"].get("object") == "text_completion":
            continue  # the answer of another API, which is written anew
        body = orjson.dumps(response["body"])
        translation = Translation(dialect, dialect, context=ASKED, completes=True)
        done = translation.whole(body)
        if translation.failure is not None:
            continue
        assert without_additions(orjson.loads(done), response["body"]), exchange["id"]
        try:
            read(dialect, done, False, used=False)
            counts["read"] += 1
        except Unacceptable as refusal:
            reason = next((reason for words, reason in BEYOND.items() if words in str(refusal)), None)
            counts[reason or "?"] += 1
            if reason is None:
                faults.append((exchange["id"], exchange["provider"], str(refusal)))
    print(f"\n{dialect}", dict(counts))
    assert faults == []
    assert counts["read"] > 9 * (sum(counts.values()) - counts["read"])


FILTER_MARKS = {"prompt_filter_results", "content_filter_results", "content_filters"}
"""What Azure's content filter found, which is kept from strict clients."""


def without_additions(done: Any, given: Any) -> bool:
    """Whether the completed answer says everything that the answer said, nulls that no type allows and empty ids of
    calls apart."""
    if isinstance(given, dict):
        return all(
            (key == "id" and not value and done.get("type") == "function")
            or (key in done and without_additions(done[key], value))
            or (value is None and key not in done)
            for key, value in given.items()
            if key not in FILTER_MARKS
        )
    if isinstance(given, list):
        return len(done) == len(given) and all(map(without_additions, done, given))
    return bool(done == given)


def test_the_own_vendors_answers_are_relayed_as_they_are() -> None:
    body = b'{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}'
    assert Translation("openai-chat", "openai-chat", context=ASKED).whole(body) == body
    done = Translation("openai-chat", "openai-chat", context=ASKED, completes=True).whole(body)
    added = b'"content":"Hi","refusal":null},"finish_reason":"stop","logprobs":null}],"object":"chat.completion",'
    assert done == body.replace(
        b'"content":"Hi"},"finish_reason":"stop"}]}', added + b'"created":1700000000,"model":"shown"}'
    )


def test_a_gemini_answer_needs_nothing() -> None:
    assert registry.dialect("gemini").answers.complete(b'{"candidates":[]}', ASKED) == b'{"candidates":[]}'


REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = b"""{"id":"a1","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":
 {"role":"assistant","content":"Hi","tool_calls":null},"finish_reason":"stop"}],
 "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"""


@pytest.mark.parametrize(
    ("target", "completed"),
    [
        ("mistral/m", True),
        ("groq/m", True),
        ("openai-compatible-strict/m", True),
        ("deepseek/m", True),
        ("openai/m", False),
    ],
)
def test_the_profile_says_whose_answers_are_complete(target: str, completed: bool) -> None:
    answer = adapt(REQUEST, target=target, source="openai-chat").answer(ANSWER)
    assert (answer.body != ANSWER) is completed
    if completed:
        assert read("openai-chat", answer.body, False).text == "Hi"
        assert b'"tool_calls"' not in answer.body


CHUNKS = (
    b'data: {"id":"a1","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":'
    b'{"content":"Hi"}}]}\n\n'
    b'data: {"id":"a1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]\n\n'
)


def test_streams_are_completed_if_that_is_configured() -> None:
    """By default a stream in the client's own dialect goes through as it is."""
    relayed = Translation("openai-chat", "openai-chat", context=ASKED, completes=True)
    assert relayed.feed(CHUNKS) + relayed.close() == CHUNKS
    asked = replace(ASKED, completes=True, include_usage=True)
    completed = Translation("openai-chat", "openai-chat", context=asked)
    assert read("openai-chat", completed.feed(CHUNKS) + completed.close(), True).text == "Hi"
    with pytest.raises(Unacceptable):
        read("openai-chat", CHUNKS, True)
