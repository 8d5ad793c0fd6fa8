"""Conversations that Anthropic, Bedrock and Google refused in public threads, and what becomes of them here."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from tests.engine.test_awkward_conversations import HI, Awkward, Wire, asked, send

from dragoman.engine.exchange.steps import Answered

CONVERSE = (
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.amazon.nova-lite-v1:0",
    "bedrock/mistral.mistral-large-2407-v1:0",
)
SPEC: Wire = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object", "properties": {}}}}}


def base64(content: bytes) -> str:
    return b64encode(content).decode()


def attached(media_type: str, content: bytes, name: str = "") -> Wire:
    """A file in Chat's words."""
    named = {"filename": name} if name else {}
    return {"type": "file", "file": {"file_data": f"data:{media_type};base64,{base64(content)}", **named}}


def shown(*files: Wire) -> Wire:
    return asked({"role": "user", "content": [{"type": "text", "text": "See"}, *files]})


def converse(*turns: tuple[str, list[Wire]]) -> Wire:
    return {
        "messages": [{"role": role, "content": content} for role, content in turns],
        "toolConfig": {"tools": [SPEC]},
    }


def document(name: str, form: str, content: bytes) -> Wire:
    return {"document": {"name": name, "format": form, "source": {"bytes": base64(content)}}}


def looked(*outputs: Wire) -> Wire:
    """A request of Converse with the result of a call."""
    call = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
    result = {"toolResult": {"toolUseId": "t1", "content": list(outputs)}}
    return converse(("user", [{"text": "Hi"}]), ("assistant", [call]), ("user", [result]))


PDF = attached("application/pdf", b"%PDF-1.4")
CASES: dict[str, Awkward] = {
    # maximhq/bifrost#7003
    "two files without a name": Awkward(
        "openai-chat",
        shown(PDF, PDF),
        CONVERSE[:2],
        arrives=('"name":"document"', '"name":"document-2"'),
        rules=("document-title",),
    ),
    # ag-ui-protocol/ag-ui#2425
    "a file that a later turn shows again": Awkward(
        "bedrock",
        converse(
            ("user", [{"text": "Hi"}, document("report", "pdf", b"%PDF-1.4")]),
            ("assistant", [{"text": "Hello"}]),
            ("user", [{"text": "And?"}, document("report", "pdf", b"%PDF-1.5")]),
        ),
        CONVERSE[:2],
        arrives=('"name":"report"', '"name":"report-2"'),
        rules=("document-title",),
    ),
    # strands-agents/harness-sdk#3019
    "a file of a format that a framework made up, with a path for its name": Awkward(
        "bedrock",
        looked({"text": "Found"}, document("tmp/artifacts/17_1.txt", "octet-stream", b"a lake")),
        (*CONVERSE[:1], "anthropic/claude-sonnet-4-5", "gemini/gemini-3-pro-preview"),
        arrives=("Found",),
        gone=("octet-stream", "[document"),
    ),
    # sigoden/aichat#1550, maximhq/bifrost#1330
    "a list as the result of a tool": Awkward(
        "bedrock",
        looked({"json": [{"id": 1}]}),
        CONVERSE[:2],
        arrives=('{"text":"[{\\"id\\":1}]"}',),
        gone=('"json":[',),
        rules=("off-schema",),
    ),
    "a picture of the format jpg in a result": Awkward(
        "bedrock",
        looked({"image": {"format": "jpg", "source": {"bytes": "/9j/4AAQSkZJRg=="}}}),
        CONVERSE[:2],
        arrives=('"format":"jpeg"',),
        rules=("off-schema",),
    ),
    "a short file of no known type": Awkward(
        "openai-chat",
        shown(attached("application/octet-stream", b"%PDF-1.4", "a.pdf")),
        ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "vertex/gemini-2.5-flash"),
        arrives=("application/pdf",),
        rules=("refused-part",),
    ),
    "a text of no known type": Awkward(
        "openai-chat",
        shown(attached("application/octet-stream", b"a lake\n", "a.log")),
        ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "vertex/gemini-2.5-flash"),
        arrives=("text/plain",),
        gone=("[document",),
        rules=("refused-part",),
    ),
}
SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
CAT: Wire = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
IMAGE_MODELS = ("gemini/gemini-3-pro-image-preview", "vertex/gemini-3-pro-image", "gemini/gemini-3.1-flash-image")


def said(*turns: tuple[str, list[Wire]], **more: Any) -> Wire:
    return {"contents": [{"role": role, "parts": parts} for role, parts in turns], **more}


CASES |= {
    # langchain-ai/langchain-google#1431, archestra-ai/archestra#2548
    "a picture that the model drew, without its signature": Awkward(
        "gemini",
        said(("user", [{"text": "A cat"}]), ("model", [{"text": "Here"}, CAT]), ("user", [{"text": "In red"}])),
        IMAGE_MODELS,
        arrives=(SKIP, "iVBORw0KGgo="),
    ),
    "a picture that the model drew, with its signature": Awkward(
        "gemini",
        said(
            ("user", [{"text": "A cat"}]),
            ("model", [{**CAT, "thoughtSignature": SKIP}]),
            ("user", [{"text": "In red"}]),
        ),
        IMAGE_MODELS[:2],
        arrives=(SKIP,),
    ),
    # gunpal5/Google_GenerativeAI#86, googleapis/js-genai#1116
    "an answer of another model, to one that draws": Awkward(
        "openai-chat", asked(HI, {"role": "assistant", "content": "Hello"}, HI), IMAGE_MODELS, arrives=(SKIP,)
    ),
}
GEMINI = ("gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview", "vertex/gemini-3-pro-preview")
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def shown_inline(media_type: str, content: bytes) -> Wire:
    blob = {"mimeType": media_type, "data": base64(content)} if media_type else {"data": base64(content)}
    return said(("user", [{"text": "See"}, {"inlineData": blob}]))


CASES |= {
    # googleapis/python-genai#829
    "a letter of Word": Awkward(
        "openai-chat",
        shown(attached(DOCX, b"PK\x03\x04\xff", "letter.docx")),
        GEMINI,
        arrives=("[document: letter.docx]",),
        rules=("refused-part",),
    ),
    # charmbracelet/crush#995, google/adk-python#2430
    "the end of a name for a type": Awkward(
        "gemini", shown_inline("pdf", b"%PDF-1.4"), GEMINI, arrives=('"application/pdf"',), rules=("media-form",)
    ),
    # GoogleCloudPlatform/generative-ai#1390
    "a picture without a type": Awkward(
        "gemini",
        shown_inline("", b"\x89PNG\r\n\x1a\n"),
        GEMINI,
        arrives=('"mimeType":"image/png"',),
        rules=("refused-part",),
    ),
    # agno-agi/agno#3964
    "a file of JSON": Awkward(
        "openai-chat",
        shown(attached("application/json", b'{"lake":1}', "a.json")),
        GEMINI[2:],
        arrives=('{\\"lake\\":1}',),
        gone=("application/json",),
        rules=("refused-part",),
    ),
    # google-gemini/cookbook#1290, vercel/ai#8943
    "a penalty": Awkward(
        "openai-chat",
        asked(HI, presence_penalty=0.5, frequency_penalty=0),
        GEMINI[:2],
        gone=("presencePenalty",),
        rules=("refused-setting",),
    ),
    "a penalty that the model takes": Awkward(
        "openai-chat",
        asked(HI, presence_penalty=0.5),
        ("gemini/gemini-2.0-flash", "vertex/gemini-2.5-pro"),
        arrives=('"presencePenalty":0.5',),
    ),
}
CLAUDE = ("anthropic/claude-opus-4-8", "vertex-anthropic/claude-sonnet-4-6", CONVERSE[0])
JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD="


def seen(url: str) -> Wire:
    return asked(
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]}
    )


def seen_by_claude(source: Wire) -> Wire:
    image = {"type": "image", "source": {"type": "base64", **source}}
    return asked({"role": "user", "content": [image]}, max_tokens=9)


CASES |= {
    # BerriAI/litellm#24900, vybestack/llxprt-code#2130
    "a picture whose file was renamed": Awkward(
        "openai-chat",
        seen(f"data:image/png;base64,{JPEG}"),
        (*CLAUDE, "gemini/gemini-2.5-flash"),
        arrives=("jpeg", JPEG),
        gone=("png",),
        rules=("refused-part",),
    ),
    "a picture whose file was renamed, in Claude's own words": Awkward(
        "anthropic",
        seen_by_claude({"media_type": "image/png", "data": JPEG}),
        (*CLAUDE, "azure-anthropic/claude-opus-4-8"),
        arrives=("jpeg", JPEG),
        gone=("png",),
        rules=("refused-part",),
    ),
    # google-gemini/gemini-cli#3054
    "a drawing in SVG": Awkward(
        "openai-chat",
        seen(f"data:image/svg+xml;base64,{base64(b'<svg/>')}"),
        (*CLAUDE, *GEMINI),
        arrives=("<svg/>",),
        gone=("image/svg",),
        rules=("refused-part",),
    ),
    # microsoft/vscode#286628
    "a film of pictures": Awkward(
        "openai-chat",
        seen(f"data:image/gif;base64,{base64(b'GIF89a')}"),
        GEMINI,
        arrives=("[image: image/gif]",),
        rules=("refused-part",),
    ),
    "a picture of the type jpg": Awkward(
        "gemini", shown_inline("image/jpg", b"\xff\xd8\xff\xe0"), GEMINI, arrives=("image/jpeg",), rules=("media-form",)
    ),
}
SHOT: Wire = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def failed(*content: Wire) -> Wire:
    """A request of Messages with the result of a call that failed."""
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": list(content)}
    turns = ({"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
    return asked(HI, *turns, max_tokens=9, tools=[{"name": "look", "input_schema": {"type": "object"}}])


def cited(form: str, content: bytes) -> Wire:
    file = document("facts", form, content)
    file["document"]["citations"] = {"enabled": True}
    return converse(("user", [{"text": "Hi"}, file]))


CASES |= {
    # vellum-ai/vellum-assistant#18387
    "a picture of a failure": Awkward(
        "anthropic",
        failed({"type": "text", "text": "No such page."}, SHOT),
        (*CLAUDE, "bedrock-anthropic/us.anthropic.claude-opus-4-8"),
        arrives=("No such page.", "iVBORw0KGgo=", "error"),
        gone=("[image",),
        rules=("refused-part",),
    ),
    "nothing but a picture of a failure": Awkward(
        "anthropic",
        failed(SHOT),
        CLAUDE,
        arrives=("[image: see the next message]", "iVBORw0KGgo=", "error"),
        rules=("refused-part",),
    ),
    # boto/boto3#4726
    "a text to be cited, as bytes": Awkward(
        "bedrock",
        cited("txt", b"The lake is deep."),
        CONVERSE[:2],
        arrives=('"source":{"text":"The lake is deep."}',),
        rules=("off-schema",),
    ),
    "a PDF to be cited": Awkward("bedrock", cited("pdf", b"%PDF-1.4"), CONVERSE[:2], arrives=('"bytes"',)),
    # elastic/kibana#277821
    "tools that nobody declared": Awkward(
        "bedrock",
        {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "toolConfig": {}},
        CONVERSE,
        gone=("toolConfig",),
        rules=("empty-tools",),
    ),
}
BLIND = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
CASES |= {
    # anomalyco/opencode#49443
    "a picture that a tool found": Awkward(
        "bedrock",
        looked({"text": "Found"}, BLIND),
        ("bedrock/openai.gpt-5.6-sol", "bedrock/us.mistral.pixtral-large-2502-v1:0", "bedrock/qwen.qwen3-vl-235b-a22b"),
        arrives=('"content":[{"text":"Found"}]', "iVBORw0KGgo="),
        gone=("[image",),
    ),
    "a picture that a tool found, to models that see it there": Awkward(
        "bedrock",
        looked(BLIND),
        (*CONVERSE[:2], "bedrock/us.meta.llama4-maverick-17b-instruct-v1:0"),
        arrives=('"content":[{"image"',),
    ),
    # crewAIInc/crewAI#4046, langgenius/dify-official-plugins#1767
    "a word to stop at": Awkward(
        "openai-chat",
        asked(HI, stop=["Observation:"]),
        ("bedrock/openai.gpt-oss-safeguard-120b", "bedrock/qwen.qwen3-235b-a22b-2507-v1:0"),
        gone=("stopSequences",),
        rules=("refused-setting",),
    ),
}
CASES |= {
    # n4ze3m/page-assist#418, MinLL/SkyrimNet-GamePlugin#77, Vali-98/ChatterUI#227
    "settings that Google's Chat does not have": Awkward(
        "openai-chat",
        asked(HI, top_k=5, frequency_penalty=0.3, seed=7, store=False, temperature=0.5, reasoning={"effort": "low"}),
        ("gemini-openai/gemini-2.5-flash",),
        arrives=('"temperature":0.5',),
        gone=("top_k", "frequency_penalty", '"seed"', '"store"', '"reasoning"'),
    ),
}


@pytest.mark.parametrize(
    ("case", "target"),
    [pytest.param(case, target, id=f"{name}, {target}") for name, case in CASES.items() for target in case.targets],
)
def test_it_is_accepted_and_whole(case: Awkward, target: str) -> None:
    sent = send(case.dialect, case.body, target, case.emulator)
    assert (type(sent.end), len(sent.bodies)) == (Answered, case.sends), sent.end
    last = sent.bodies[-1]
    assert [word for word in case.arrives if word not in last] == []
    assert [word for word in case.gone if word in last] == []
    assert not case.rules or sent.rules == case.rules
