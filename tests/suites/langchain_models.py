"""LangChain's standard tests for chat models, on a gateway. `langchain_suite.py` runs it in an environment of its own.

Each class says what the integration's own tests say that it supports. What the suite would fetch from the network is
made here: a picture, a document and a sound.
"""

from __future__ import annotations

import io
import os
import struct
import wave
import zlib
from typing import Any

import httpx
import pytest
import requests
from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrockConverse
from langchain_cohere import ChatCohere
from langchain_core.language_models import BaseChatModel
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

URL = os.environ["DRAGOMAN_URL"]
MODEL = os.environ["DRAGOMAN_MODEL"]
OVERRIDE = os.environ["DRAGOMAN_OVERRIDE"]


def picture() -> bytes:
    """A red picture of 64 by 64."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + b"\xff\0\0" * 64 for _ in range(64))
    head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def document() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Length 41>>stream\nBT /F1 18 Tf 10 100 Td (Dummy PDF) Tj ET\nendstream endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF\n"
    )


def sound() -> bytes:
    """A second of silence."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\0\0" * 8000)
    return out.getvalue()


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the suite fetches by itself comes from here."""

    def get(url: str, **options: Any) -> httpx.Response:
        made = document() if url.endswith(".pdf") else sound() if url.endswith(".wav") else picture()
        return httpx.Response(200, content=made)

    def get_for_google(url: str) -> requests.Response:
        """Its integration fetches pictures by itself, with another library."""
        answer = requests.Response()
        answer.status_code, answer.raw = 200, io.BytesIO(get(url).content)
        return answer

    monkeypatch.setattr(httpx, "get", get)
    monkeypatch.setattr(requests, "get", get_for_google)


class OnTheGateway(ChatModelIntegrationTests):
    """What holds for all."""

    __test__ = False

    @property
    def model_override_value(self) -> str | None:
        return OVERRIDE if self.supports_model_override else None

    @property
    def enable_vcr_tests(self) -> bool:
        return False


class TestOpenAI(OnTheGateway):
    __test__ = True
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = True
    supports_json_mode = True
    supports_anthropic_inputs = True

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "base_url": f"{URL}/v1", "api_key": "any", "stream_usage": True}


class TestOpenAIResponses(TestOpenAI):
    supports_image_tool_message = True
    supports_pdf_tool_message = True

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {**super().chat_model_params, "use_responses_api": True}


class TestAnthropic(OnTheGateway):
    __test__ = True
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = True
    supports_image_tool_message = True
    supports_pdf_tool_message = True
    supports_anthropic_inputs = True

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatAnthropic

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "base_url": URL, "api_key": "any"}


class TestGoogle(OnTheGateway):
    __test__ = True
    supports_model_override = False  # the integration takes its model at the start
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = True
    supports_audio_inputs = True
    supports_json_mode = True
    supports_image_tool_message = True
    supports_pdf_tool_message = True

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatGoogleGenerativeAI

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "google_api_key": "any", "base_url": URL}


class TestOllama(OnTheGateway):
    __test__ = True
    supports_image_inputs = True
    supports_json_mode = True
    has_tool_choice = False

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatOllama

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "base_url": URL}


class TestAws(OnTheGateway):
    __test__ = True
    supports_model_override = False  # the integration takes its model at the start
    supports_image_inputs = True
    supports_pdf_inputs = True
    supports_image_tool_message = True

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatBedrockConverse

    @property
    def chat_model_params(self) -> dict[str, Any]:
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        told = {"supports_tool_choice_values": ("auto", "any", "tool"), "disable_streaming": False}
        return {"model": MODEL, "provider": "anthropic", "base_url": URL, "region_name": "us-east-1", **keys, **told}


class TestCohere(OnTheGateway):
    __test__ = True
    supports_model_override = False  # the integration takes its model at the start

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatCohere

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "cohere_api_key": "any", "base_url": URL}
