"""`refused-part`: parts that the target does not take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judges import judge
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.conversation.messages import MADE
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.profiles.facts import Facts
from dragoman.rules.media.refused_part import refused_part

URL = "https://a/b.png"
ACCEPTS = {"inline": "accepts", "url": "accepts"}
NOTHING = facts(media={})


def takes(kind: str = "image", dialect: str = CHAT, **medium: Any) -> Facts:
    return facts(dialect, provider="p", media={kind: {**ACCEPTS, **medium}}, media_detail="accepts")


def media(source: str, kind: str = "image", **more: Any) -> str:
    extra = "".join(f',"{name}":"{value}"' for name, value in more.items())
    return f'[part {{"is":"Media","kind":"{kind}","source":{source}{extra}}}]'


INLINE = '{"is":"Inline","media_type":"image/png","data":"aGk="}'
STORED = '{"is":"Stored","id":"file_1","provider":"p"}'
SOMEWHERE = '{"is":"Stored","id":"file_1"}'
PLAIN = '{"is":"Plain","literal":"The text."}'

STAND_INS: dict[str, tuple[Facts, str, str]] = {
    "by URL": (NOTHING, f"[image {URL}]", f"[image: {URL}]"),
    "as bytes": (NOTHING, media(INLINE), "[image: image/png]"),
    "as bytes with a title": (NOTHING, media(INLINE, title="sky"), "[image: sky]"),
    "stored": (NOTHING, media(STORED), "[image: file_1]"),
    "stored, with a title": (NOTHING, media(STORED, title="sky"), "[image: sky]"),
    "of a type that is not taken": (takes(types=["image/gif"]), media(INLINE), "[image: image/png]"),
    "by URL if only bytes are taken": (takes(url="refuses"), f"[image {URL}]", f"[image: {URL}]"),
    "by URL without encryption": (takes(schemes=("https",)), "[image http://a/b.png]", "[image: http://a/b.png]"),
    "as bytes if only URLs are taken": (takes(inline="refuses"), media(INLINE), "[image: image/png]"),
    "stored if no files are taken": (takes(stored="refuses"), media(STORED), "[image: file_1]"),
    "stored with somebody else": (
        takes(stored="accepts"),
        media(STORED.replace('"p"', '"q"')),
        "[image: file_1]",
    ),
    "audio": (NOTHING, f"[audio {URL}]", f"[audio: {URL}]"),
}


def test_a_film_of_a_site_that_the_target_watches_stays() -> None:
    film = {"type": "video_url", "video_url": {"url": "https://youtu.be/a"}}
    other = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
    done = sent({"messages": [{"role": "user", "content": [film, other]}]}, "gemini/gemini-3-pro-preview", source=CHAT)
    kept, line = done.json["contents"][0]["parts"]
    assert kept == {"fileData": {"fileUri": "https://youtu.be/a", "mimeType": "video/mp4"}}
    assert line == {"text": "[video: https://example.com/a.mp4]"}
    assert done.changes == [("refused-part", "/messages/0/content/1", "content", False)]


@pytest.mark.parametrize("name", STAND_INS)
def test_a_line_of_text_stands_in_for_media(name: str) -> None:
    known, part, line = STAND_INS[name]
    done = run(refused_part, f"user: See?\n+ {part}\n+ Well?\nassistant: Hm", known)
    texts = [part.text for part in done.conversation.messages[0].parts]  # type: ignore[attr-defined]
    assert texts == ["See?", line, "Well?"]
    assert done.changes == [("/messages/0/content", "content", False)]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


def test_the_report_names_the_kind() -> None:
    assert run(refused_part, f"user: [image {URL}]", NOTHING).did == ["put a line of text in place of an image"]
    assert run(refused_part, f"user: [video {URL}]", NOTHING).did == ["put a line of text in place of a video"]


@pytest.mark.parametrize(("role", "where"), [("assistant", "assistant"), ("system", "system"), ("developer", "system")])
def test_media_in_a_turn_if_the_target_takes_none(role: str, where: str) -> None:
    said = f"user: Hi\n{role}: See:\n[image {URL}]"
    done = run(refused_part, said, takes(**{where: "refuses"}))
    assert done.script.replace("\\u005b", "[") == f"user: Hi\n{role}: See:\n+ [image: {URL}]"
    assert run(refused_part, said, takes(**{where: "accepts"})).untouched


def test_documents_that_a_users_turn_does_not_hold_stay_if_they_stand_apart() -> None:
    """Cohere's documents stand beside the messages and in results, and in no turn of the user's."""
    known = takes("document", "cohere", plain="accepts", user="refuses", result="accepts")
    done = run(refused_part, f"user: Hi\n{media(PLAIN, 'document')}", known)
    assert (done.script, done.changes) == ("user: Hi\n+ The text.", [("/messages/0/content", "nothing", False)])
    body = {"messages": [{"role": "user", "content": "Hi"}], "documents": ["The text."]}
    assert run(refused_part, body, known, source="cohere").untouched


def test_a_document_given_as_text_becomes_that_text() -> None:
    done = run(refused_part, f"user: {media(PLAIN, 'document')}\n+ {media(PLAIN, 'document', title='t.txt')}", NOTHING)
    assert [part.text for part in done.conversation.messages[0].parts] == [  # type: ignore[attr-defined]
        "The text.",
        "[document: t.txt]\nThe text.",
    ]
    assert {(loses, adds) for _, loses, adds in done.changes} == {("nothing", False)}
    assert run(refused_part, f"user: {media(PLAIN, 'document')}", takes("document", plain="accepts")).untouched


def test_how_closely_to_look_at_an_image() -> None:
    detailed = media(INLINE, detail="high")
    done = run(refused_part, f"user: {detailed}", facts(media={"image": ACCEPTS}, media_detail="refuses"))
    (image,) = done.conversation.messages[0].parts
    assert image.detail is None  # type: ignore[attr-defined]
    assert [(loses, adds) for _, loses, adds in done.changes] == [("metadata", False)]
    assert run(refused_part, f"user: {detailed}", takes()).untouched


def test_a_level_of_detail_that_the_target_does_not_know_becomes_its_highest() -> None:
    levels = facts(media={"image": ACCEPTS}, media_detail="accepts", detail_levels=["auto", "low", "high"])
    done = run(refused_part, f"user: {media(INLINE, detail='original')}", levels)
    (image,) = done.conversation.messages[0].parts
    assert image.detail == "high"  # type: ignore[attr-defined]
    assert [(loses, adds) for _, loses, adds in done.changes] == [("metadata", False)]
    assert run(refused_part, f"user: {media(INLINE, detail='low')}", levels).untouched


RESULTS = "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: one\n| [image https://a/1]\nresult b: [image https://a/2]"


def test_media_of_results_moves_to_a_user_turn_after_them() -> None:
    done = run(refused_part, RESULTS, takes(result="refuses"))
    assert done.script == (
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: one\nresult b: \\u005bimage: see the next message]\n"
        "user: [image https://a/1]\n[image https://a/2]"
    ).replace("\\u005b", "[")
    assert done.changes == [("/messages/2", "metadata", False), ("/messages/3", "metadata", False)]


def test_it_joins_the_user_turn_that_follows() -> None:
    done = run(refused_part, f"{RESULTS}\nuser: So?", takes(result="refuses"))
    assert done.script.endswith("user: [image https://a/1]\n[image https://a/2]\n+ So?")


def test_it_stands_before_any_other_turn() -> None:
    done = run(refused_part, f"{RESULTS}\nassistant: So", takes(result="refuses"))
    assert done.script.endswith("user: [image https://a/1]\n[image https://a/2]\nassistant: So")


def test_media_of_results_that_a_user_turn_cannot_hold_either() -> None:
    done = run(refused_part, "call f(a) {}\nresult a: one\n| [image https://a/1]", NOTHING)
    (result,) = done.conversation.messages[1].parts
    assert [part.text for part in result.parts] == ["one", "[image: https://a/1]"]  # type: ignore[attr-defined]
    assert done.changes == [("/messages/1", "content", False)]


def test_media_stays_in_a_result_if_it_is_taken() -> None:
    assert run(refused_part, RESULTS, takes(result="accepts")).untouched


DRAWN = "user: Draw.\nassistant: Here:\n[image https://a/1]"


@pytest.mark.parametrize("between", ["", "call f(a) {}\nresult a: one\n", "assistant: So\n"])
def test_media_of_the_model_moves_to_the_user_turn_that_follows(between: str) -> None:
    done = run(refused_part, f"{DRAWN}\n{between}user: More.", takes(assistant="refuses"))
    assert done.script.replace("\\u005b", "[") == (
        f"user: Draw.\nassistant: Here:\n+ [image: see the next message]\n{between}user: [image https://a/1]\n+ More."
    )
    assert done.changes == [("/messages/1/content", "metadata", False)]


KEPT = {
    "no user turn follows": (DRAWN, "[image: https://a/1]"),
    "the model goes on after results": (f"{DRAWN}\nresult a: one\nassistant: So\nuser: Hm", "[image: https://a/1]"),
    "a document of text": (f"user: Hi\nassistant: Here:\n{media(PLAIN, 'document')}\nuser: More.", "The text."),
}


@pytest.mark.parametrize("name", KEPT)
def test_it_becomes_text_where_it_stands(name: str) -> None:
    said, line = KEPT[name]
    known = facts(
        media={kind: {**ACCEPTS, "plain": "accepts", "assistant": "refuses"} for kind in ("image", "document")}
    )
    done = run(refused_part, said, known)
    assert done.conversation.messages[1].parts[-1].text == line  # type: ignore[attr-defined]


REFUSAL = '[part {"is":"Refusal","literal":"No."}]'
CITED = '[part {"is":"Citation","json":{"u":1},"origin":{"is":"Origin","dialect":"openai-chat"}}]'
BLOCK = '[part {"is":"Opaque","kind":"search","json":{"q":1},"origin":{"is":"Origin","dialect":"openai-chat"}}]'

SILENT = BLOCK.replace('{"q":1}', '{"id":"s_1"}')
READ_OUT = "assistant: Hm\n+ [search]\\n1"

OTHERS: dict[str, tuple[str, Facts, str, str]] = {
    "a refusal becomes text": (REFUSAL, facts(refusal_part="refuses"), "assistant: Hm\n+ No.", "metadata"),
    "a citation": (CITED, facts(citation_part="refuses"), "assistant: Hm", "metadata"),
    "another dialect's citation": (CITED, facts("anthropic"), "assistant: Hm", "metadata"),
    "a block of another dialect": (BLOCK, facts("anthropic"), READ_OUT, "metadata"),
    "a block if none is taken": (BLOCK, facts(native_blocks="refuses"), READ_OUT, "metadata"),
    "a block of a kind that is refused": (BLOCK, facts(refused_blocks=["search"]), READ_OUT, "metadata"),
    "a block of a kind that is not known": (BLOCK, facts(block_kinds=["text", "image*"]), READ_OUT, "metadata"),
    "a block without words": (SILENT, facts("anthropic"), "assistant: Hm", "content"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_parts(name: str) -> None:
    part, known, after, loses = OTHERS[name]
    done = run(refused_part, f"assistant: Hm\n+ {part}", known)
    assert done.script == after
    assert [change[1:] for change in done.changes] == [(loses, False)]


UNTOUCHED: dict[str, tuple[str, Facts]] = {
    "media that it takes": (f"user: See?\n[image {URL}]\n+ {media(INLINE)}", takes(types=["image/png"])),
    "a file that is stored there": (f"user: {media(STORED)}", takes(stored="accepts")),
    "a file of unknown place": (f"user: {media(SOMEWHERE)}", takes(stored="accepts")),
    "a refusal apart from text": (f"assistant: {REFUSAL}", facts(refusal_part="accepts")),
    "its own citation": (f"assistant: Hm\n+ {CITED}", facts(citation_part="accepts")),
    "its own block": (f"assistant: {BLOCK}", facts(block_kinds=["sea*"])),
    "words": ("user: Hi", NOTHING),
}


test_untouched = leaves_alone(refused_part, UNTOUCHED)


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"messages": list(messages)}


HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "deepseek/deepseek-chat", "llamacpp/some-model", "ollama-openai/x"]
)
def test_adapt_and_a_part_of_a_kind_that_the_target_does_not_know(target: str) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    done = sent(chat(HI, {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello"}]}, HI), target)
    assert "thinking" not in str(done.json["messages"][1])
    assert "Hello" in str(done.json["messages"][1])
    assert done.changes[0] == ("refused-part", "/messages/1/content/0", "metadata", False)


def test_adapt_moves_a_screenshot_out_of_a_result() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    messages = [
        HI,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [image]}]},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "openai/gpt-4o", source="anthropic")
    assert [turn["role"] for turn in done.json["messages"]] == ["user", "assistant", "tool", "user"]
    assert done.json["messages"][3]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    ]
    assert done.changes == [("refused-part", "/messages/2/content/0", "metadata", False)]


def test_base64_for_urls_becomes_what_all_read() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "-_8"}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "See?"}]}]}
    done = sent(body, "anthropic/claude-sonnet-4-5", source="gemini")
    assert done.json["messages"][0]["content"][0]["source"]["data"] == "+/8="


SPOKEN = {"id": "audio_1", "transcript": "Sunny."}


@pytest.mark.parametrize("target", ["mistral/mistral-large-latest", "groq/llama-3.3-70b-versatile", "xai/grok-4"])
def test_the_words_of_a_spoken_answer_stand_in_its_place(target: str) -> None:
    said = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "audio": SPOKEN},
        {"role": "user", "content": "And now?"},
    ]
    adapted = adapt({"messages": said}, source=CHAT, target=target)
    assert adapted.json["messages"][1] == {"role": "assistant", "content": "Sunny."}
    assert [(one.rule, one.at, str(one.loses)) for one in adapted.changes] == [
        ("refused-part", "/messages/1/audio", "content")
    ]


def test_a_spoken_answer_goes_to_its_own_provider() -> None:
    said = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": None, "audio": SPOKEN}]
    said.append({"role": "user", "content": "And now?"})
    adapted = adapt({"messages": said}, source=CHAT, target="openai/gpt-4o-audio-preview")
    assert adapted.json["messages"][1] == {**said[1], "audio": {"id": "audio_1"}}
    assert [change.rule for change in adapted.changes] == ["stray-field"]


def test_mistral_has_no_spoken_answers() -> None:
    said = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "a", "audio": {"id": "audio_1"}}]
    said.append({"role": "user", "content": "And now?"})
    adapted = adapt({"messages": said}, source=CHAT, target="mistral/mistral-large-latest")
    assert "audio" not in adapted.json["messages"][1]
    assert [change.rule for change in adapted.changes] == ["refused-part"]


@pytest.mark.parametrize(
    "target",
    ["cerebras/llama-3.3-70b", "moonshot/kimi-k2.6", "qwen/qwen3-max", "deepseek/deepseek-chat", "perplexity/sonar"],
)
def test_a_provider_without_spoken_answers_gets_their_words(target: str) -> None:
    spoken = {"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "Good day."}}
    turns = [{"role": "user", "content": "Hi"}, spoken, {"role": "user", "content": "Go on"}]
    done = sent({"messages": turns}, target)
    assert "audio_1" not in str(done.json)
    assert done.json["messages"][1]["content"] == "Good day."
    assert ("refused-part", "/messages/1/audio") in {entry[:2] for entry in done.changes}
    assert sent({"messages": turns}, "openai/gpt-4o").json["messages"][1]["audio"] == {"id": "audio_1"}


SEARCH: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide in Brest"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "https://e.com", "title": "Tides", "encrypted_content": "EqgfCioIAR"}
        ],
    },
    {"type": "text", "text": "High at six."},
]


def searched() -> dict[str, Any]:
    turns = [
        {"role": "user", "content": "When is high tide?"},
        {"role": "assistant", "content": SEARCH},
        {"role": "user", "content": "And low?"},
    ]
    return {"max_tokens": 9, "messages": turns}


def test_c7_the_words_of_another_vendors_search_stay() -> None:
    done = sent(searched(), "gemini/gemini-2.5-flash", source="anthropic")
    texts = [part["text"] for part in done.json["contents"][1]["parts"]]
    assert texts == ["[web search: tide in Brest]\n1. Tides - https://e.com", "High at six."]
    assert [(at, loses) for rule, at, loses, _ in done.changes if rule == "provider-run"] == [
        ("/messages/1/content/0", "metadata")
    ]


def test_blocks_can_be_left_out() -> None:
    done = adapt(searched(), source="anthropic", target="openai/gpt-4o", policy=Policy(rules={"refused-part": "drop"}))
    assert done.json["messages"][1] == {"role": "assistant", "content": "High at six."}
    assert [change.loses for change in done.changes if change.rule == "refused-part"] == ["content", "content"]


def said_by(block: dict[str, Any]) -> tuple[Any, list[str]]:
    items = [{"role": "user", "content": "Hi"}, block, {"role": "user", "content": "Go on"}]
    done = sent({"input": items}, "openai/gpt-4o", source="openai-responses")
    return done.json["messages"][1:-1], [loses for rule, _, loses, _ in done.changes if rule == "refused-part"]


def test_a_summary_of_one_text_is_said_as_it_is() -> None:
    block = {"type": "local_note", "id": "n_1", "text": 'Two "lines"\nof it'}
    told, loses = said_by(block)
    assert told == [{"role": "assistant", "content": '[local_note]\nTwo "lines"\nof it'}]
    assert loses == ["metadata"]


def test_bytes_in_a_block_are_not_read_out() -> None:
    made = {"type": "local_picture", "id": "p_1", "prompt": "a cat", "result": "iVBORw0KGgo" * 20}
    told, loses = said_by(made)
    assert told == [{"role": "assistant", "content": "[local_picture]\na cat"}]
    assert loses == ["content"]


@pytest.mark.parametrize("data", ["High at six.", "満潮は六時です"])
def test_data_that_is_a_text_is_read_out(data: str) -> None:
    told, loses = said_by({"type": "local_note", "id": "n_1", "data": data})
    assert told == [{"role": "assistant", "content": f"[local_note]\n{data}"}]
    assert loses == ["metadata"]


def test_a_run_that_printed_nothing_still_tells_how_it_ended() -> None:
    told, loses = said_by({"type": "local_run", "id": "r_1", "stdout": "", "return_code": 0})
    assert told == [{"role": "assistant", "content": "[local_run]\n0"}]
    assert loses == ["metadata"]


@pytest.mark.parametrize(
    ("block", "loses"),
    [
        ({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAB"}, "content"),
        (
            {
                "type": "mcp_list_tools",
                "id": "m_1",
                "server_label": "dice",
                "tools": [{"name": "roll", "input_schema": {}}],
            },
            "metadata",
        ),
    ],
)
def test_what_only_its_provider_can_read_is_left_out(block: dict[str, Any], loses: str) -> None:
    assert said_by(block) == ([], [loses])


@pytest.mark.parametrize("target", ["openrouter/google/gemini-2.5-pro", "moonshot/kimi-k3"])
def test_a_refusal_alone_is_text_for_those_that_make_no_part_of_it(target: str) -> None:
    said: dict[str, Any] = {"role": "assistant", "content": None, "refusal": "No."}
    body = {"messages": [{"role": "user", "content": "Hi"}, said, {"role": "user", "content": "Why?"}]}
    done = sent(body, target)
    assert done.json["messages"][1] == {"role": "assistant", "content": "No."}
    assert [rule for rule, *_ in done.changes] == ["refused-part"]
    assert sent(body, "openrouter/openai/gpt-4o").changes == []


@pytest.mark.parametrize("target", ["xai/grok-4", "gemini-openai/gemini-3-pro-preview", "together/some-model"])
def test_the_id_of_a_sound_that_openai_holds_is_left_out(target: str) -> None:
    spoken = {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    asked = {"messages": [{"role": "user", "content": "Hi"}, spoken, {"role": "user", "content": "More"}]}
    done = sent(asked, target)
    assert "audio_1" not in str(done.json)
    assert ("refused-part", "/messages/1/audio", "content", False) in done.changes


MADE_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
PICTURES: list[dict[str, Any]] = [
    {"role": "user", "content": "Draw."},
    {"role": "assistant", "content": "", "images": [MADE_PICTURE, {**MADE_PICTURE, "index": 1}]},
    {"role": "user", "content": "Bluer."},
]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "mistral/mistral-large-latest"])
def test_pictures_beside_the_content_move_like_others_of_the_model(target: str) -> None:
    done = adapt({"messages": PICTURES}, source=CHAT, target=target)
    moved = [(one.at, one.loses) for one in done.changes if one.rule == "refused-part"]
    assert moved == [("/messages/1/images/0", "metadata"), ("/messages/1/images/1", "metadata")]
    told, asked = done.json["messages"][1:]
    assert "see the next message" in str(told["content"])
    assert asked["content"] == [MADE_PICTURE, MADE_PICTURE, {"type": "text", "text": "Bluer."}]
    assert "images" not in told


@pytest.mark.parametrize("target", ["anthropic-compatible/m", "gemini-native-compatible/m", "ollama/qwen3:8b"])
def test_marks_of_pictures_beside_the_content_stay_in_their_dialect(target: str) -> None:
    done = adapt({"messages": PICTURES}, source=CHAT, target=target)
    assert "index" not in str(done.json)
    assert ("stray-field", "/messages/1/images/1") in [(one.rule, one.at) for one in done.changes]


@pytest.mark.parametrize("target", ["openrouter/google/gemini-2.5-flash-image", "openai-compatible/m"])
def test_pictures_beside_the_content_stay_if_the_field_is_taken(target: str) -> None:
    done = adapt({"messages": [*PICTURES, {"role": "system", "content": "Late."}]}, source=CHAT, target=target)
    assert done.json["messages"][1] == PICTURES[1]


IGNORED_FIELDS = [
    *("zai/glm-4.6v", "ollama-openai/m", "vllm/m", "llamacpp/m", "sglang/m", "together/m", "strict-template/m"),
    "gemini-openai/gemini-2.5-flash",
]


@pytest.mark.parametrize("content", [None, "Here."])
@pytest.mark.parametrize("target", IGNORED_FIELDS)
def test_a_picture_beside_the_content_moves_for_a_target_that_ignores_it(target: str, content: str | None) -> None:
    turn = {"role": "assistant", "content": content, "images": [MADE_PICTURE]}
    done = adapt({"messages": [PICTURES[0], turn, PICTURES[2]]}, source=CHAT, target=target)
    name, _, model = target.partition("/")
    assert judge(name, model, done.path, done.headers, done.body) is None
    assert MADE_PICTURE in done.json["messages"][2]["content"]
    assert ("refused-part", "/messages/1/images/0") in [(one.rule, one.at) for one in done.changes]


def test_a_picture_beside_the_content_is_named_for_a_target_that_reads_none() -> None:
    done = sent({"messages": [PICTURES[0], {**PICTURES[1], "images": [MADE_PICTURE]}]}, "deepseek/deepseek-chat")
    assert "images" not in done.json["messages"][1]
    assert ("refused-part", "/messages/1/images/0", "content", False) in done.changes


def test_a_picture_beside_the_content_may_be_a_part_of_it() -> None:
    strict = facts(unknown_fields="refuses", media={"image": {**ACCEPTS, "assistant": "accepts"}})
    done = run(refused_part, {"messages": [PICTURES[0], {**PICTURES[1], "images": [MADE_PICTURE]}]}, strict)
    assert done.did == ["wrote an image as a part of the content"]
    assert done.json["messages"][1] == {"role": "assistant", "content": [MADE_PICTURE]}


def test_a_list_of_pictures_that_cannot_be_read_is_a_field_like_others() -> None:
    odd = [{**PICTURES[1], "images": [MADE_PICTURE, {"type": "text", "text": "?"}]}]
    done = adapt({"messages": [PICTURES[0], *odd, PICTURES[2]]}, source=CHAT, target="openai/gpt-4o")
    assert ("stray-field", "took out `images`") in [(one.rule, one.did) for one in done.changes]


def test_a_picture_that_was_made_goes_to_the_user_turn_after_all_messages_of_the_model() -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}
    said = {"role": "assistant", "content": "Here it is."}
    hi = {"role": "user", "content": "Draw a cat."}
    body = {"model": "m", "input": [hi, made, said, {"role": "user", "content": "Bluer."}]}
    adapted = adapt(body, source="openai-responses", target="anthropic/claude-sonnet-4-5")
    turns = json.loads(adapted.body)["messages"]
    assert [block["type"] for block in turns[-1]["content"]] == ["image", "text"]
    assert turns[-1]["content"][0]["source"]["data"] == "iVBORw0KGgo="


PDF, PNG, SOUND = "JVBERi0xLjQKJcfs", "iVBORw0KGgoAAAAN", "UklGRiQAAABXQVZF"


def in_chat(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "See?"}, part]}]}


def pictured(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def filed(url: str) -> dict[str, Any]:
    return {"type": "file", "file": {"file_data": url, "filename": "a"}}


UNDER_OTHER_NAMES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "a PDF as a picture": (
        pictured(f"data:application/pdf;base64,{PDF}"),
        "anthropic/claude-sonnet-4-6",
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
    ),
    "a PDF as a picture, in the target's own dialect": (
        pictured(f"data:application/pdf;base64,{PDF}"),
        "openai/gpt-4o",
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "untitled"}},
    ),
    "a PDF by URL as a picture": (
        pictured("https://example.com/a.pdf?v=2"),
        "anthropic/claude-sonnet-4-6",
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf?v=2"}},
    ),
    "a sound as a picture": (
        pictured(f"data:audio/wav;base64,{SOUND}"),
        "mistral/mistral-large-latest",
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
    ),
    "a picture as a file": (
        filed(f"data:image/png;base64,{PNG}"),
        "anthropic/claude-sonnet-4-6",
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    ),
    "a picture of no type": (
        pictured(f"data:;base64,{PNG}"),
        "anthropic/claude-sonnet-4-6",
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    ),
    "a PDF of a type that says nothing": (
        pictured(f"data:application/octet-stream;base64,{PDF}"),
        "openai-responses/gpt-5",
        {"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}"},
    ),
}


@pytest.mark.parametrize("name", UNDER_OTHER_NAMES)
def test_media_under_the_name_of_another_kind_is_given_as_what_it_is(name: str) -> None:
    part, target, meant = UNDER_OTHER_NAMES[name]
    done = adapt(in_chat(part), target=target)
    messages = done.json.get("messages") or done.json["input"]
    assert messages[0]["content"][1] == meant
    assert [(one.rule, one.loses, one.at) for one in done.changes][:1] == [
        ("refused-part", "nothing", "/messages/0/content/1")
    ]


def test_a_picture_in_a_file_moves_out_of_a_result_as_a_picture() -> None:
    output = [{"type": "input_file", "filename": "a.png", "file_data": f"data:image/png;base64,{PNG}"}]
    turns = [
        {"role": "user", "content": "Look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": output},
    ]
    done = adapt({"input": turns}, source="openai-responses", target="mistral/mistral-large-latest")
    assert done.json["messages"][-2]["content"] == "[image: see the next message]"
    assert done.json["messages"][-1]["content"] == [pictured(f"data:image/png;base64,{PNG}")]


@pytest.mark.parametrize("data", ["!!!!", "AAAA", ""])
def test_bytes_that_show_nothing_stay_what_they_are_called(data: str) -> None:
    done = adapt(in_chat(pictured(f"data:;base64,{data}")), target="mistral/mistral-large-latest")
    assert [one.did for one in done.changes] == ["put a line of text in place of an image"]


def test_a_target_that_takes_it_under_that_name_gets_it_so() -> None:
    """Gemini's own dialect and its Chat endpoint know media by their type alone."""
    wire = {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "application/pdf", "data": PDF}}]}]}
    assert not adapt(wire, target="gemini/gemini-2.5-flash").changes
    named = in_chat(filed(f"data:image/png;base64,{PNG}"))
    assert not adapt(named, target="openai/gpt-4o").changes


def test_what_is_done_to_a_turn_that_was_made_up_is_told_where_that_turn_stands() -> None:
    known = facts(media={"image": {**ACCEPTS, "result": "refuses"}})
    said = f"user: [audio https://a/b.mp3]\ncall f(a) {{}}\nresult a: [image {URL}]\nuser: And?"
    asked = run(refused_part, said, known)
    assert asked.did == ["put a line of text in place of an audio", "moved media of a result to a user turn"]
    first, call, result, last = asked.ask.conversation.messages
    made = replace(asked.ask.conversation, messages=(first, call, replace(result, at=MADE), last))
    assert run(refused_part, made, known).did == asked.did


PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
ALBUM: list[dict[str, Any]] = [{"type": "text", "text": "Before"}, PIXEL, {"type": "text", "text": "after"}]
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def album(content: list[Any]) -> dict[str, Any]:
    return {"type": "document", "title": "Trip", "source": {"type": "content", "content": content}}


def test_a_document_of_texts_and_pictures_is_given_as_those() -> None:
    body: dict[str, Any] = {"max_tokens": 9, "messages": [{"role": "user", "content": [album(ALBUM)]}]}
    done = sent(body, "openai/gpt-4o", source="anthropic")
    texts = [{"type": "text", "text": text} for text in ("[document]\nTrip", "Before", "after")]
    assert done.json["messages"][0]["content"] == [*texts[:2], SHOWN, texts[2]]
    assert done.changes == [("refused-part", "/messages/0/content/0", "metadata", False)]
    assert sent(body, "anthropic/claude-sonnet-4-6").json["messages"] == body["messages"]
    body["messages"].append({"role": "user", "content": "Hi"})
    dropped = adapt(body, target="openai/gpt-4o", source="anthropic", policy=Policy(rules={"refused-part": "drop"}))
    assert b"Before" not in dropped.body


def test_the_pictures_of_a_document_in_a_result_are_pictures_of_the_result() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [album(ALBUM)]}]}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, call, result]}
    there = sent(body, "openai-responses/gpt-4o", source="anthropic").json["input"][2]["output"]
    assert [part["type"] for part in there] == ["input_text", "input_text", "input_image", "input_text"]
    assert sent(body, "openai/gpt-4o", source="anthropic").json["messages"][3] == {"role": "user", "content": [SHOWN]}


@pytest.mark.parametrize("content", [[PIXEL, "odd"], [PIXEL, {"type": "video"}], [{**PIXEL, "source": 1}]])
def test_a_document_of_other_blocks_is_read_out(content: list[Any]) -> None:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [album(content)]}]}
    (said,) = sent(body, "openai/gpt-4o", source="anthropic").json["messages"]
    assert said["content"].startswith("[document]\n")
