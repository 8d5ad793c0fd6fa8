"""Where a chat template is read from: told by the content of the file, bounded, with errors that say what is wrong."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import TemplateError
from dragoman.probe.template.gguf import read_gguf
from dragoman.probe.template.renderer import TemplateEngine
from dragoman.probe.template.sources import TemplateSource, from_props, read_template, read_template_file

CHATML = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
WITH_TOOLS = "{{ tools | tojson }}" + CHATML


def encoded(table: Any) -> bytes:
    return msgspec.json.encode(table)


def test_jinja_text() -> None:
    found = read_template(b"\xef\xbb\xbf\n  " + CHATML.encode(), "chat.jinja")
    assert (found.text.strip(), found.origin, found.engine) == (CHATML, "chat.jinja", TemplateEngine.JINJA2)
    assert read_template(b"{#- a comment -#}{{ messages }}").text == "{#- a comment -#}{{ messages }}"


TOKENIZERS: dict[str, Any] = {
    "a text": CHATML,
    "named ones": [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": WITH_TOOLS}],
    "a table": {"default": CHATML, "rag": "{{ documents }}"},
}


@pytest.mark.parametrize("form", TOKENIZERS)
def test_tokenizer_config(form: str) -> None:
    table = {
        "bos_token": {"content": "<b>", "special": True},
        "eos_token": "</b>",
        "model_max_length": 8192,
        "chat_template": TOKENIZERS[form],
    }
    found = read_template(encoded(table), "tokenizer_config.json")
    assert (found.text, found.bos, found.eos, found.context_window) == (CHATML, "<b>", "</b>", 8192)
    assert found.tool_template == (WITH_TOOLS if form == "named ones" else "")


def test_chat_template_json_and_a_limit_that_is_none() -> None:
    found = read_template(encoded({"chat_template": CHATML, "model_max_length": 1e30}), "chat_template.json")
    assert (found.text, found.context_window) == (CHATML, 0)


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tokens(*words: str) -> bytes:
    return struct.pack("<IQ", 8, len(words)) + b"".join(text(word) for word in words)


def gguf(*pairs: bytes, version: int = 3, count: int | None = None) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs) if count is None else count)
    return head + b"".join(pairs) + b"tensors follow"


MODEL = gguf(
    pair("general.architecture", 8, text("llama")),
    pair("llama.context_length", 4, struct.pack("<I", 4096)),
    pair("llama.rope.freq", 6, struct.pack("<f", 1.0)),
    pair("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 3) + b"\0" * 12),
    pair("tokenizer.ggml.merges", 9, tokens("a b", "c d")),
    pair("tokenizer.ggml.tokens", 9, tokens("<unk>", "<s>", "</s>")),
    pair("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 1)),
    pair("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 2)),
    pair("tokenizer.chat_template", 8, text(CHATML)),
    pair("tokenizer.chat_template.tool_use", 8, text(WITH_TOOLS)),
    pair("general.flag", 7, b"\1"),
)


def test_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(MODEL)
    assert read_template_file(path) == TemplateSource(
        CHATML, WITH_TOOLS, "<s>", "</s>", 4096, "model.bin", TemplateEngine.LLAMA_CPP
    )


HOSTILE: dict[str, tuple[bytes, str]] = {
    "cut off": (MODEL[:200], "ends in the middle"),
    "version": (gguf(version=1), "version 1; known: 2, 3"),
    "many pairs": (gguf(count=2**60), "entries of metadata"),
    "a long key": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**40), "a text of"),
    "a long template": (gguf(text("tokenizer.chat_template") + struct.pack("<IQ", 8, 2**33)), "a text of"),
    "a long array": (gguf(text("x") + struct.pack("<IIQ", 9, 10, 2**60)), "too large"),
    "a long array of texts": (gguf(text("x") + struct.pack("<IIQ", 9, 8, 2**60)), "too large"),
    "deep arrays": (gguf(text("x") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 40), "unknown kind"),
    "an unknown kind": (gguf(text("x") + struct.pack("<I", 77)), "unknown kind, 77"),
    "large texts": (
        gguf(*[pair(f"tokenizer.chat_template.{number}", 8, text("a" * 1_000_000)) for number in range(70)]),
        "too large",
    ),
    "many tokens": (gguf(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2**40)), "too many"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_gguf_is_refused(name: str) -> None:
    content, words = HOSTILE[name]
    with pytest.raises(TemplateError, match=words):
        read_gguf(io.BytesIO(content))


REFUSED: dict[str, tuple[bytes, str]] = {
    "plain text": (b"hello", "no Jinja template"),
    "bytes": (b"\xff\xfe\0{%", "neither text, JSON nor a GGUF file"),
    "broken JSON": (b'{"chat_template": ', "no JSON object"),
    "JSON without one": (b'{"model_max_length": 3}', "has no chat template"),
    "a long template": (b"{{ a }}" + b" " * 2_000_000, "longer than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    content, words = REFUSED[name]
    with pytest.raises(TemplateError, match=words):
        read_template(content, "file")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="cannot be read"):
        read_template_file(tmp_path / "none.jinja")


def test_props_of_a_server() -> None:
    props = {"chat_template": CHATML, "bos_token": "<s>", "default_generation_settings": {"n_ctx": 2048}}
    found = from_props({**props, "chat_template_tool_use": WITH_TOOLS})
    assert (found.text, found.tool_template, found.context_window) == (CHATML, WITH_TOOLS, 2048)
    assert found.engine is TemplateEngine.LLAMA_CPP
    with pytest.raises(TemplateError, match="has no chat template"):
        from_props({"chat_template": ""})
