"""`duplicate-document-id`: the id of a document that an earlier document of the request has."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge
from tests.rules.runs import facts, run, sent

from dragoman.engine.answer.translation import Translation
from dragoman.rules.name.duplicate_document_id import duplicate_document_id

TARGET = "cohere/command-a-03-2025"
WANTS = facts("cohere", duplicate_documents="refuses")


def asked(*documents: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "How deep?"}], "documents": list(documents)}


def document(identity: Any, text: str = "12 metres.") -> dict[str, Any]:
    return {"id": identity, "data": {"text": text}}


def ids(*documents: Any) -> list[Any]:
    return [one.get("id") for one in sent(asked(*documents), TARGET).json["documents"]]


def test_later_documents_get_new_ids() -> None:
    done = run(
        duplicate_document_id, asked(document("a"), document("b"), document("a"), document("a")), WANTS, source="cohere"
    )
    assert done.changes == [("/documents/2", "nothing", False), ("/documents/3", "nothing", False)]
    assert done.did == ["gave a repeated document id a new one"] * 2
    found = [one["id"] for one in done.json["documents"]]
    assert found[:2] == ["a", "b"]
    assert len({*found}) == 4
    assert done.undo.ids == dict.fromkeys(found[2:], "a")


def test_more_documents_do_not_change_the_ids_of_others() -> None:
    few = [document("a"), document("a")]
    assert ids(*few, document("a"))[:2] == ids(*few)


UNTOUCHED = {
    "ids of their own": (document("a"), document("b")),
    "none": ({"data": {"text": "a"}}, {"data": {"text": "a"}}),
    "empty ones": (document(""), document("")),
    "texts": ("a", "a"),
}


@pytest.mark.parametrize("documents", UNTOUCHED.values(), ids=UNTOUCHED)
def test_others_stay(documents: tuple[Any, ...]) -> None:
    assert run(duplicate_document_id, asked(*documents), WANTS, source="cohere").untouched


def test_a_target_that_takes_them() -> None:
    assert run(duplicate_document_id, asked(document("a"), document("a")), facts("cohere"), source="cohere").untouched


def test_adapt_for_a_real_provider() -> None:
    done = sent(asked(document("a"), document("a")), TARGET)
    assert done.changes == [("duplicate-document-id", "/documents/1", "nothing", False)]
    profile, _, model = TARGET.partition("/")
    body = orjson.dumps({"model": model, **done.json})
    assert judge(profile, model, "/v2/chat", {"content-type": "application/json"}, body) is None


def cited(source: dict[str, Any], undo: Any) -> Any:
    citation = {"start": 0, "end": 2, "text": "12", "type": "TEXT_CONTENT", "sources": [source]}
    message = {"role": "assistant", "content": [{"type": "text", "text": "12 metres."}], "citations": [citation]}
    answer = orjson.dumps({"id": "x", "finish_reason": "COMPLETE", "message": message})
    told = orjson.loads(Translation("cohere", "cohere", undo).whole(answer))
    return told["message"]["citations"][0]["sources"][0]


def test_citations_name_the_id_of_the_client() -> None:
    done = sent(asked(document("a"), document("a")), TARGET)
    made = done.json["documents"][1]["id"]
    assert cited({"type": "document", "id": made, "document": {"id": made, "text": f"The id {made}"}}, done.undo) == {
        "type": "document",
        "id": "a",
        "document": {"id": "a", "text": f"The id {made}"},
    }


def test_citations_name_the_call_of_the_client() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}] * 2
    results = [{"role": "tool", "tool_call_id": "c", "content": "12 metres."}] * 2
    body = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": calls}, *results]}
    done = sent(body, TARGET)
    made = done.json["messages"][1]["tool_calls"][1]["id"]
    assert made != "c"
    assert cited({"type": "tool", "id": f"{made}:0", "tool_output": {}}, done.undo)["id"] == "c:0"
