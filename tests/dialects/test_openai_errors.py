"""The code of a 404 in OpenAI's two dialects: clients take `model_not_found` for a wrong name of a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.wire.error_bodies import parse_failure


def openai(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def google(message: str) -> dict[str, Any]:
    return {"error": {"code": 404, "message": message, "status": "NOT_FOUND"}}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "not_found_error", "message": message}}


MISSING_MODELS: list[tuple[int, Any]] = [
    (404, openai("The model `x` does not exist or you do not have access to it.", "model_not_found")),
    (404, openai("The model `x` has been deprecated, learn more here: https://platform.openai.com")),
    (400, openai("The requested model 'x' does not exist.", "model_not_found")),
    (404, anthropic("model: x")),
    (404, google("models/x is not found for API version v1beta, or is not supported for generateContent.")),
    (404, google("Publisher Model `projects/p/locations/l/publishers/google/models/x` not found.")),
    (404, openai("The API deployment for this resource does not exist.", "DeploymentNotFound")),
    (400, {"message": "The provided model identifier is invalid."}),
    (404, {"message": "This model version has reached the end of its life."}),
    (404, {"error": "model 'x' not found"}),
    (404, {"message": "model 'x' not found, make sure the correct model ID was used."}),
    (404, {"error": {"message": "Specified model not found: x. Did you mean: y"}}),
]
WRONG_PATHS: list[tuple[Any, str | None]] = [
    ({"error": {"message": "Resource not found", "code": "404"}}, "404"),
    (openai("Invalid URL (POST /v1/v1/chat/completions)"), None),
    (openai("Unknown request URL: POST /v1/models/chat/completions.", "unknown_url"), "unknown_url"),
    (anthropic("Not Found"), None),
    (google("Requested entity was not found."), None),
    ({"detail": "Not Found"}, None),
    ({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, None),
    ("404 page not found", None),
    ("<html><title>Error 404</title><p>The requested URL /v1/models/x was not found.</p></html>", None),
    ("", None),
]


def code_of(client: str, status: int, body: Any) -> str | None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    failure = parse_failure(status, {}, raw, "p")
    sent, _, error = dialect(client).answers.render_error(failure, AnswerContext())
    assert sent == 404
    code: str | None = json.loads(error)["error"]["code"]
    return code


@pytest.mark.parametrize("client", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("case", MISSING_MODELS, ids=str)
def test_a_model_that_is_not_there_is_named_so(client: str, case: tuple[int, Any]) -> None:
    assert code_of(client, *case) == "model_not_found"


@pytest.mark.parametrize("client", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("case", WRONG_PATHS, ids=str)
def test_nothing_is_said_of_a_model_if_the_provider_says_nothing_of_it(
    client: str, case: tuple[Any, str | None]
) -> None:
    body, code = case
    assert code_of(client, 404, body) == code
