"""`media-form`: media in one vendor's own form."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge
from tests.rules.runs import facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import State
from dragoman.rules.media.media_form import media_form

PDF = "data:application/pdf;base64,JVBERi0="
LONG_PDF = "JVBERi0xLjQKJcfsj6IK"
WORDS: dict[str, Any] = {"type": "text", "text": "Read it."}
OWN_FORM = facts(media_forms=[], media={"image": {}, "document": {}, "audio": {}})

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
    "headless": (
        {"type": "file", "file": {"file_data": LONG_PDF, "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{LONG_PDF}", "filename": "a.pdf"}},
    ),
    "sound_url": (
        {"type": "input_audio", "input_audio": {"data": "data:;base64,UklGRg==", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ),
}


@pytest.mark.parametrize(
    ("address", "media_type"),
    [
        ("https://www.youtube.com/watch?v=a", "video/mp4"),
        ("https://youtu.be/a", "video/mp4"),
        ("gs://bucket/a.pdf", "application/pdf"),
        ("https://example.com/a", "application/*"),
    ],
)
def test_a_file_of_no_type_gets_one_for_vertex_alone(address: str, media_type: str) -> None:
    part = {"fileData": {"fileUri": address}}
    asked = {"contents": [{"role": "user", "parts": [part, {"text": "What is it?"}]}]}
    named = {"fileData": {"fileUri": address, "mimeType": media_type}}
    done = sent(asked, "vertex/gemini-3-pro-preview", source="gemini")
    assert done.json["contents"][0]["parts"][0] == named
    assert done.changes == [("media-form", "/contents/0/parts/0", "nothing", False)]
    assert sent(asked, "gemini/gemini-3-pro-preview", source="gemini").json == asked


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


VENDORS_FORM = facts(vendor_forms={"document": "document_url"}, media={"image": {}, "document": {}})
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
    assert done.json["messages"][1]["content"][1] == {**LINK, "document_name": "a.pdf"}
    assert done.changes == [("media-form", "/messages/1/content/1", "nothing", False)]
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    paper = {"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]}
    translated = sent(paper, "mistral/mistral-large-latest", source="anthropic")
    assert translated.json["messages"][0]["content"] == [LINK]
    assert translated.changes == []


PIXEL, JPEG = "iVBORw0KGgo=", "/9j/4AAQSkZJRg=="


def picture(kind: str, data: str = PIXEL, scheme: str = "data", encoding: str = "base64") -> dict[str, Any]:
    return body({"type": "image_url", "image_url": {"url": f"{scheme}:{kind};{encoding},{data}"}})


@pytest.mark.parametrize("kind", ["image/jpg", "IMAGE/JPEG", "image/jpeg;charset=utf-8", "image/pjpeg"])
@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_c9_a_picture_under_another_name_of_its_type_is_sent(kind: str, target: str) -> None:
    done = sent({**picture(kind, JPEG), "max_tokens": 9}, target, source="openai-chat")
    written = str(done.json)
    assert JPEG in written
    assert "image/jpeg" in written
    assert kind not in written
    assert [(rule, loses) for rule, _, loses, _ in done.changes] == [("media-form", "nothing")]


def test_a_listed_type_keeps_its_name() -> None:
    listed = facts(media={"image": {"types": ["image/jpg", "image/jpeg"]}})
    assert run(media_form, picture("image/jpg"), listed).untouched
    assert run(media_form, picture("image/jpg"), facts(media={"image": {}})).untouched


def test_the_scheme_of_a_data_url_may_be_in_capitals() -> None:
    done = sent(picture("IMAGE/PNG", scheme="DATA", encoding="BASE64"), "gemini/gemini-2.5-flash", source="openai-chat")
    assert done.json["contents"][-1]["parts"][-1]["inlineData"] == {"mimeType": "image/png", "data": PIXEL}


def test_a_data_url_of_plain_text_is_read() -> None:
    part = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain,hello%20there"}}
    done = sent(body(part), "gemini/gemini-2.5-flash", source="openai-chat")
    inline = done.json["contents"][-1]["parts"][-1]["inlineData"]
    assert (inline["mimeType"], inline["data"]) == ("text/plain", "aGVsbG8gdGhlcmU=")


def test_line_breaks_in_base64_go_in_a_translation() -> None:
    wrapped = picture("image/png", data="iVBORw0K\r\nGgo=\n")
    done = sent(wrapped, "gemini/gemini-2.5-flash", source="openai-chat")
    assert done.json["contents"][-1]["parts"][-1]["inlineData"]["data"] == PIXEL
    assert sent(wrapped, "openai/gpt-4o").json["messages"] == wrapped["messages"]


def test_a_document_of_another_name_in_one_vendors_form() -> None:
    """Both repairs in one step: its type, and the form that the vendor has for documents."""
    known = facts(vendor_forms={"document": "document_url"}, media={"document": {"types": ["application/pdf"]}})
    part = {"type": "file", "file": {"file_data": "data:application/x-pdf;base64,JVBERi0=", "filename": "untitled"}}
    done = run(media_form, body(part), known)
    assert done.json["messages"][1]["content"][1] == {"type": "document_url", "document_url": PDF}


HEADLESS = {
    "by its name": ("YSxiCjEsMgozLDQK", "a.CSV", "text/csv"),
    "by its bytes": (LONG_PDF, None, "application/pdf"),
}


@pytest.mark.parametrize("case", HEADLESS)
def test_base64_alone_is_a_file_of_the_type_that_shows(case: str) -> None:
    data, name, media_type = HEADLESS[case]
    file = {"file_data": data} | ({"filename": name} if name else {})
    done = sent(body({"type": "file", "file": file}), "gemini/gemini-2.5-flash", source="openai-chat")
    assert done.json["contents"][-1]["parts"][-1]["inlineData"]["mimeType"] == media_type


def test_responses_reads_base64_alone_too() -> None:
    part = {"type": "input_file", "file_data": LONG_PDF, "filename": "a.pdf"}
    asked = {"input": [{"role": "user", "content": [part]}]}
    own = sent(asked, "openai-responses/gpt-5", source="openai-responses")
    assert own.json["input"][0]["content"][0]["file_data"] == f"data:application/pdf;base64,{LONG_PDF}"
    assert [change[0] for change in own.changes] == ["media-form"]
    claude = sent(asked, "anthropic/claude-opus-4-8", source="openai-responses")
    assert claude.json["messages"][0]["content"][0]["source"]["data"] == LONG_PDF


def sound(data: str) -> dict[str, Any]:
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}
    return {"messages": [{"role": "user", "content": [WORDS, part]}]}


SOUND = "SUQzBAAAAAAA"


def test_qwen_reads_a_sound_as_a_url_alone() -> None:
    own, plain = sound(f"data:audio/mpeg;base64,{SOUND}"), sound(SOUND)
    done = adapt(plain, target="qwen/qwen3-omni-flash")
    assert done.json["messages"] == own["messages"]
    assert [(one.rule, one.loses) for one in done.changes] == [("media-form", "nothing")]
    for accepted in (own, sound(f"data:;base64,{SOUND}"), sound("https://example.com/a.mp3")):
        kept = adapt(accepted, target="qwen/qwen3-omni-flash")
        assert (kept.json["messages"], kept.changes) == (accepted["messages"], ())
        assert judge("qwen", "qwen3-omni-flash", kept.path, kept.headers, kept.body) is None
    assert judge("qwen", "qwen3-omni-flash", done.path, done.headers, done.body) is None
    assert judge("qwen", "qwen3-omni-flash", done.path, done.headers, orjson.dumps(plain)) is not None


@pytest.mark.parametrize("data", [f"data:;base64,{SOUND}", f"data:audio/mp3;base64,{SOUND}", SOUND])
@pytest.mark.parametrize("target", ["vllm/m", "openai/gpt-4o-audio-preview", "gemini/gemini-2.5-flash", "llamacpp/m"])
def test_a_sound_written_for_qwen_is_read_everywhere(target: str, data: str) -> None:
    name, _, model = target.partition("/")
    done = adapt(sound(data), target=target)
    assert f'"{SOUND}"'.encode() in done.body
    assert judge(name, model, done.path, done.headers, done.body) is None


def test_a_sound_by_url_is_fetched_or_named() -> None:
    linked = sound("https://example.com/a.mp3")
    done = adapt(linked, target="gemini/gemini-2.5-flash")
    assert done.media_to_fetch == ("https://example.com/a.mp3",)
    assert done.json["contents"][0]["parts"][1] == {"text": "[audio: https://example.com/a.mp3]"}
    fetched = State(media={"https://example.com/a.mp3": b"ID3\x04"})
    parts = adapt(linked, target="gemini/gemini-2.5-flash", state=fetched).json["contents"][0]["parts"]
    assert parts[1] == {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQzBA=="}}


def test_a_data_url_in_place_of_the_bytes_of_responses() -> None:
    part = {"type": "input_audio", "input_audio": {"data": f"data:audio/mp3;base64,{SOUND}", "format": "mp3"}}
    turn = {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hear?"}, part]}]}
    done = adapt(turn, source="openai-responses", target="gemini/gemini-2.5-flash")
    assert done.json["contents"][0]["parts"][1]["inlineData"]["data"] == SOUND


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "application/json"])
def test_mistral_reads_no_text_files_and_gets_their_words(kind: str) -> None:
    """https://github.com/mistralai/client-python/issues/217"""
    url = f"data:{kind};base64,eyJhIjoxfQ=="
    asked = body({"type": "document_url", "document_url": url})
    wire = orjson.dumps({"model": "mistral-large-latest", **asked})
    assert judge("mistral", "mistral-large-latest", "/chat/completions", {}, wire) is not None
    data = {"file_data": url, "filename": "a.txt"}
    done = sent(body({"type": "file", "file": data}), "mistral/mistral-large-latest")
    assert "document_url" not in str(done.json)
    assert '{"a":1}' in str(done.json)
    assert [(rule, loses) for rule, _, loses, _ in done.changes] == [("refused-part", "nothing")]
