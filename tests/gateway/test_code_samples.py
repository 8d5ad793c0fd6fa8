"""Whatever a model is called and whatever a provider says, a sample does what the request did and nothing else."""

from __future__ import annotations

import ast
import json
import shlex
from typing import Any
from urllib.parse import unquote, urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.emulation.reproducing_test import reproducing_test
from dragoman.gateway.console.code_samples import CodeSamples, code_samples
from dragoman.profiles.profile import Profiles
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.destinations import HttpDestination, Routes

ROOT = "http://127.0.0.1:8642"
INJECTION = 'x"+__import__("os").system("id")+"'
DOCSTRING = 'x"""\n__import__("os").system("id")\n"""'
SHELL = "x';id;'$(id)`id`\\"
NAMES = st.one_of(
    st.text(st.sampled_from("\"'\\\n\r\t\0$`;/{}%#?.: ax\u2028\u0085"), max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
CALLED = {
    "python": {"httpx.post", "print", "answer.headers.get"},
    "test": {
        "json.loads",
        "dragoman.adapt",
        "emulator",
        "urllib.request.Request",
        "dict",
        "urllib.request.urlopen",
        "urllib.request.urlopen(request).read",
        "AssertionError",
        "refusal.read",
        "refusal.read().decode",
    },
}
ROUTES = Routes(Config(providers={"up": Provider(profile="gemini", base_url="http://127.0.0.1:1")}), Profiles())


def destination(model: str) -> HttpDestination:
    """A place that answers to any name. Most of these names lead nowhere today; a sample must not rely on it."""
    route = ROUTES.find("up/x")
    assert route is not None
    return replace(route.first, target=replace(route.first.target, model=model))


def samples(name: str, dialect: str = "openai-chat", error: str | None = None, **fields: Any) -> CodeSamples:
    entry = Entry(id="req_1", time=0.0, caller="", client_dialect=dialect, asked=name, error=error)
    request = json.dumps({"model": name, "messages": [{"role": "user", "content": name}], **fields}).encode()
    made = code_samples(entry, request, destination(name), ROOT)
    assert made is not None
    return made


def calls(source: str) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}


def argument(source: str, function: str, name: str | None = None) -> Any:
    """A literal that a call of a sample is given: the first one, or the one of a name."""
    found = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function
    )
    return ast.literal_eval(
        found.args[0] if name is None else next(one.value for one in found.keywords if one.arg == name)
    )


@example(INJECTION)
@example(DOCSTRING)
@example(SHELL)
@example("../../dragoman/config/undo?")
@given(NAMES.filter(bool))
@settings(deadline=None)
def test_a_models_name_is_never_code(name: str) -> None:
    made = samples(name)
    request = {"model": name, "messages": [{"role": "user", "content": name}]}
    command = shlex.split(made.curl)
    assert command[:2] == ["curl", f"{ROOT}/v1/chat/completions"]
    assert command[2:-1] == ["-H", "content-type: application/json", "-H", "authorization: Bearer KEY", "-d"]
    assert json.loads(command[-1]) == request
    assert calls(made.python) == CALLED["python"]
    assert argument(made.python, "httpx.post", "json") == request
    assert calls(made.test) == CALLED["test"]
    assert json.loads(argument(made.test, "json.loads")) == request
    assert argument(made.test, "dragoman.adapt", "target") == f"gemini/{name}"


@example(INJECTION)
@example("a/../../../dragoman/config/undo?")
@given(NAMES.filter(bool))
@settings(deadline=None)
def test_a_models_name_stays_one_segment_of_the_path(name: str) -> None:
    made = samples(name, dialect="gemini")
    for url in (shlex.split(made.curl)[1], argument(made.python, "httpx.post")):
        parts = urlsplit(url)
        assert unquote(parts.path) == f"/v1beta/models/{name}:generateContent"
        assert parts.path.count("/") == 3
        assert (parts.query, parts.fragment) == ("", "")


@example(DOCSTRING)
@example('ends with a quote "')
@example("ends with a backslash \\")
@given(NAMES)
@settings(deadline=None)
def test_a_providers_words_are_never_code(words: str) -> None:
    for error in ("", words):
        source = reproducing_test(
            request=b'{"messages":[]}',
            dialect=words,
            target=words,
            emulator=words,
            stream=False,
            error=error,
            when=words,
        )
        assert calls(source) == CALLED["test"]
        assert argument(source, "emulator") == words
        assert (error or words)[:200] in str(ast.get_docstring(ast.parse(source), clean=False))


def test_a_request_that_is_too_deep_has_no_samples() -> None:
    deep = json.dumps({"messages": []})[:-1] + ',"metadata":' + '{"a":' * 400 + "1" + "}" * 401
    entry = Entry(id="req_1", time=0.0, caller="", client_dialect="openai-chat", asked="x")
    assert code_samples(entry, deep.encode(), destination("x"), ROOT) is None
