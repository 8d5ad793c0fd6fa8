"""Unknown fields are put aside wherever they stand, and the rest is read as it is written."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage


class _Leaf(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    content: Raw = Raw()


class _Holder(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    the_leaf: _Leaf | None = None
    leaves: list[_Leaf] | None = None
    size: int = 0


_holder = msgspec.json.Decoder(_Holder)


def test_what_is_known_needs_no_salvage() -> None:
    salvaged = salvage(b'{"size":1}', _holder)
    assert (salvaged.value.size, salvaged.extras) == (1, {})


def test_fields_are_put_aside_by_the_path_of_what_held_them() -> None:
    body = (
        b'{"x":[ 1 ],"theLeaf":{"name":"a","y":{"z":null}},'
        b'"leaves":[{"name":"b"},{"name":"c","content":"\\u00e9","w":"v"}],"size":2,"u":1}'
    )
    salvaged = salvage(body, _holder)
    assert salvaged.extras == {
        "$": {"x": b"[1]", "u": b"1"},
        "$.theLeaf": {"y": b'{"z":null}'},
        "$.leaves[1]": {"w": b'"v"'},
    }
    assert [leaf.name for leaf in salvaged.value.leaves] == ["b", "c"]
    assert bytes(salvaged.value.leaves[1].content) == b'"\\u00e9"'
    assert (salvaged.value.the_leaf.name, salvaged.value.size) == ("a", 2)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (b'{"x":1,"leaves":[{"name":"a","y":1},{"name":2}]}', "/there/leaves/1/name"),
        (b'{"x":1,"size":"many"}', "/there/size"),
        (b'{"x":1', "/there"),
        (b'{"theLeaf":{"x":1}}', "/there/theLeaf"),
        (b'{"x":1,"theLeaf":[{"name":"a"}]}', "/there/theLeaf"),
    ],
)
def test_other_faults_are_told_with_their_place(body: bytes, at: str) -> None:
    with pytest.raises(MalformedRequest) as fault:
        salvage(body, _holder, "/there")
    assert fault.value.at == at


def test_thousands_of_fields_in_one_object() -> None:
    body = msgspec.json.encode({f"field {number}": number for number in range(2_000)} | {"size": 7})
    salvaged = salvage(body, _holder)
    assert salvaged.value.size == 7
    assert len(salvaged.extras["$"]) == 2_000
