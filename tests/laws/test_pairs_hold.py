"""Law 6, pairs hold: no call is parted from its result, no result from its call."""

from __future__ import annotations

import pytest
from tests.strategies import SHAPES, request
from tests.targets import SWEEPS, signer

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Call, Result, Text
from dragoman.engine.library.adapt import BUILTIN, adapt, read
from dragoman.profiles.facts import Stance


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_pairs_hold(target: str, seeds: range) -> None:
    facts = BUILTIN.target(target).facts
    for source in SHAPES:
        for seed in seeds:
            body = request(source, seed, signer(target)).body
            adapted = adapt(body, source=source, target=target)
            before, after = answered(read(body, source=source).conversation), answered(adapted.conversation)
            if not facts.flat_tools:
                assert all(any(words in other for other in after) for words in before), (source, seed)
            found = pair(adapted.conversation.messages)
            if facts.orphan_result is Stance.REFUSES:
                assert found.orphans == [], (source, seed)
            if facts.missing_result is Stance.REFUSES:
                assert found.unanswered == [], (source, seed)


def answered(conversation: Conversation) -> list[str]:
    """What was answered to each call, in the order of the calls: the first words of each answer."""
    messages = conversation.messages
    words = []
    for (at, index), (to, place) in sorted(pair(messages).answers.items()):
        call, result = messages[at].parts[index], messages[to].parts[place]
        assert isinstance(call, Call)
        assert isinstance(result, Result)
        texts = [part.text for part in result.parts if isinstance(part, Text)]
        words.append(texts[0].removeprefix("[error] ") if texts else "")
    return [word for word in words if word.strip() and not word.startswith("[")]
