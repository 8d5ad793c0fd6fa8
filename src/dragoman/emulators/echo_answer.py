"""The answer when there is no script: it describes the request, so that a test can see what arrived.

    received: system user assistant tool user; tools: 2; last user: "And in Paris?"

If the request forces a tool, the echo calls it. If the request has a response schema, the echo answers with a value
that fits. The echo recognises the dialects by the names of their fields.
"""

from __future__ import annotations

from dragoman.emulators.plausible.request_view import view_request
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.request_members import find_asked_schema, list_functions, request_turns
from dragoman.emulators.schema_sample import sample

_SHOWN = 400  # characters of the last user message


def echo(request: ReceivedRequest) -> ModelTurn:
    """The turn that describes the request."""
    body = request.body if isinstance(request.body, dict) else {}
    view = view_request(body)
    forced = next((tool for tool in view.tools if view.choice in ("required", tool.name)), None)
    if forced is not None:
        return ModelTurn(calls=(ModelCall(forced.name, sample(forced.schema)),))
    schema = find_asked_schema(body)
    if schema is not None:
        return ModelTurn(json=sample(schema))
    turns = request_turns(body)
    last = next((text for role, text in reversed(turns) if role == "user" and text), "")
    roles = " ".join(role for role, _ in turns)
    return ModelTurn(text=f'received: {roles}; tools: {len(list_functions(body))}; last user: "{last[:_SHOWN]}"')
