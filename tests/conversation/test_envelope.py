"""Q6: foreign state in an envelope that survives clients which decode and encode it."""

from __future__ import annotations

import base64

import pytest

from dragoman.conversation.envelope import seal, seal_several, unseal, unseal_several
from dragoman.conversation.parts import Opaque, Origin

STATES = [
    Opaque(kind="signature", json=b'"EqQB+/=="', origin=Origin("anthropic", "anthropic", "claude-opus-4-5", "team")),
    Opaque(kind="thought_signature", json=b'"a"', origin=Origin("gemini")),
    Opaque(kind="reasoning_details", json='{"data":"é🌍"}'.encode(), origin=Origin("openai-chat", "openrouter")),
    Opaque(kind="", json=b"null", origin=Origin("")),
]


@pytest.mark.parametrize("state", STATES)
def test_what_is_sealed_is_unsealed(state: Opaque) -> None:
    assert unseal(seal(state)) == state


@pytest.mark.parametrize("state", STATES)
def test_a_client_may_spell_base64_its_own_way(state: Opaque) -> None:
    content = base64.b64decode(seal(state), validate=True)
    for spelled in (
        base64.urlsafe_b64encode(content).decode(),
        base64.urlsafe_b64encode(content).decode().rstrip("="),
        base64.b64encode(content).decode().rstrip("="),
        base64.b64encode(content).decode() + "==",
    ):
        assert unseal(spelled) == state


@pytest.mark.parametrize(
    "text", ["", "gAAAAABnot-ours", "ZHJhZ29tYW4x", "ZHJhZ29tYW4xAAAA", "ZHJhZ29tYW4x!!!", "CiQ+/w==", "dragoman1"]
)
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    assert unseal(text) is None


@pytest.mark.parametrize("inside", [b'"a', b'"a"} ', b'"a","model":"m"', b"{bad", b'"\xff"', b"[" * 5000])
def test_what_is_inside_is_one_json_value_and_nothing_else(inside: bytes) -> None:
    """Anybody can make an envelope, and what is inside is written into a request as it is."""
    assert unseal(seal(Opaque(kind="signature", json=inside, origin=Origin("anthropic")))) is None


def test_several_blocks_come_back_in_their_order() -> None:
    origin = Origin("gemini", "google")
    blocks = tuple(Opaque(kind=kind, json=b'{"a":"\xc3\xa4"}', origin=origin) for kind in ("toolCall", "toolResponse"))
    assert unseal_several(seal_several(blocks)) == blocks
    assert unseal_several(seal(blocks[0])) == blocks[:1]


@pytest.mark.parametrize("json", [b"", b"{}", b'[["kind"]]', b"[1]", b"[[1,{}]]"])
def test_an_envelope_of_several_that_holds_something_else_is_none(json: bytes) -> None:
    assert unseal_several(seal(Opaque(kind="several", json=json, origin=Origin("gemini")))) == ()
    assert unseal_several("no envelope") == ()
