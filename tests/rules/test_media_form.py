"""`media-form`: media in one vendor's own form."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.rules.media_form import media_form

PDF = "data:application/pdf;base64,JVBERi0="
WORDS: dict[str, Any] = {"type": "text", "text": "Read it."}
OWN_FORM = facts(media_forms=[], media={"image": {}, "document": {}})

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "document_url": (
        {"type": "document_url", "document_url": PDF},
        {"type": "file", "file": {"file_data": PDF, "filename": "untitled"}},
    ),
    "bare": (
        {"type": "image_url", "image_url": "https://example.com/a.png"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ),
    "untitled": (
        {"type": "file", "file": {"file_data": PDF}},
        {"type": "file", "file": {"file_data": PDF, "filename": "untitled"}},
    ),
}


def body(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": [WORDS, part]}]}


@pytest.mark.parametrize("form", FORMS)
def test_it_is_written_in_the_dialects_own_form(form: str) -> None:
    part, own = FORMS[form]
    done = run(media_form, body(part), OWN_FORM)
    assert done.json["messages"] == body(own)["messages"]
    assert done.changes == [("/messages/1/content/1", "nothing", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


@pytest.mark.parametrize("form", FORMS)
def test_untouched(form: str) -> None:
    part, own = FORMS[form]
    assert run(media_form, body(part), facts(media_forms=[form])).untouched
    assert run(media_form, body(part), facts(media_forms=["*"])).untouched
    assert run(media_form, body(own), OWN_FORM).untouched


@pytest.mark.parametrize("form", FORMS)
def test_adapt_for_real_providers(form: str) -> None:
    part, own = FORMS[form]
    done = sent(body(part), "openai/gpt-4o")
    assert done.json["messages"] == body(own)["messages"]
    assert done.changes == [("media-form", "/messages/1/content/1", "nothing", False)]
    assert sent(body(part), "openai-compatible-lenient/m").json["messages"] == body(part)["messages"]


VENDORS_FORM = facts(document_form="document_url", media={"image": {}, "document": {}})
NAMED: dict[str, Any] = {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}}
LINK: dict[str, Any] = {"type": "document_url", "document_url": PDF}


@pytest.mark.parametrize(("part", "loses"), [(FORMS["untitled"][0], "nothing"), (NAMED, "metadata")])
def test_a_document_is_written_in_the_vendors_form(part: dict[str, Any], loses: str) -> None:
    done = run(media_form, body(part), VENDORS_FORM)
    assert done.json["messages"] == body(LINK)["messages"]
    assert done.changes == [("/messages/1/content/1", loses, False)]


@pytest.mark.parametrize("part", [LINK, FORMS["bare"][0], FORMS["bare"][1], {"type": "file", "file": {"file_id": "f"}}])
def test_what_is_no_document_with_its_bytes_stays(part: dict[str, Any]) -> None:
    assert run(media_form, body(part), VENDORS_FORM).untouched


def test_a_document_reaches_mistral_from_any_dialect() -> None:
    done = sent(body(NAMED), "mistral/mistral-large-latest")
    assert done.json["messages"][1]["content"][1] == LINK
    assert done.changes == [("media-form", "/messages/1/content/1", "metadata", False)]
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    paper = {"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]}
    translated = sent(paper, "mistral/mistral-large-latest", source="anthropic")
    assert translated.json["messages"][0]["content"] == [LINK]
    assert translated.changes == []
