"""What `import dragoman` offers, and how little it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import dragoman


def test_all_that_is_promised_is_there() -> None:
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
    assert set(dragoman.__all__) <= set(dir(dragoman))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        dragoman.nothing_like_it  # noqa: B018


def test_adapt_and_lint_work_from_the_package() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    adapted = dragoman.adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-5")
    assert isinstance(adapted, dragoman.AdaptedRequest)
    assert adapted.json["messages"] == [{"role": "user", "content": "Hi"}]
    assert all(isinstance(change, dragoman.Change) for change in adapted.changes)
    found = dragoman.lint(request, source="openai-chat", targets=["anthropic/claude-sonnet-4-5"])
    assert all(isinstance(finding, dragoman.Finding) for finding in found)
    with pytest.raises(dragoman.errors.DragomanError):
        dragoman.adapt(b"", target="openai/gpt-4o")


@pytest.mark.parametrize("given", [{}, {"max_loss": "order"}])
def test_a_dict_in_place_of_a_policy_or_a_state_is_told(given: Any) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    told = r"policy must be a dragoman.Policy, not a dict; write policy=dragoman.Policy\(…\)"
    with pytest.raises(TypeError, match=told):
        dragoman.adapt(request, target="openai/gpt-5", policy=given)
    with pytest.raises(TypeError, match=told):
        dragoman.lint(request, targets="openai/gpt-5", policy=given)
    with pytest.raises(TypeError, match=told):
        dragoman.DragomanTransport("openai/gpt-5", policy=given)
    with pytest.raises(TypeError, match=r"state must be a dragoman.State, not a dict"):
        dragoman.adapt(request, target="openai/gpt-5", state=given)


ADAPT = """
import dragoman
request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]}
adapted = dragoman.adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-6")
adapted.answer(b'{"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}')
dragoman.lint(request, source="openai-chat", targets=["gemini/gemini-2.5-flash"])
"""
TRANSPORT = """
import httpx, dragoman.integrations.sdk_transport as sdk
transport = sdk.DragomanTransport("anthropic/claude-sonnet-4-6", api_key="k", wrap=httpx.MockTransport(
    lambda request: httpx.Response(200, json={"type": "message", "role": "assistant", "content": []})))
body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
httpx.Client(transport=transport).post("http://x/v1/chat/completions", json=body).raise_for_status()
"""
COMMAND = """
from dragoman.__main__ import main
main()
"""
ONLY = """
import sys
from importlib.abc import MetaPathFinder
class Only(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Only())
"""
HTTPX = {"httpx", "httpcore", "h11", "anyio", "certifi", "idna", "sniffio", "typing_extensions"}


def run_with(allowed: set[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code that can import the standard library and these packages, and nothing else."""
    limited = ONLY.replace("{allowed}", repr(allowed | {"dragoman"})) + code
    return subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        (set[str](), "import dragoman"),
        ({"msgspec"}, ADAPT),
        ({"msgspec", *HTTPX}, TRANSPORT),
    ],
    ids=["nothing", "library", "transport"],
)
def test_the_library_needs_msgspec_alone(allowed: set[str], code: str) -> None:
    done = run_with(allowed, code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_without_its_extra_says_how_to_install_it() -> None:
    done = run_with({"msgspec"}, COMMAND)
    assert done.returncode == 1
    assert done.stderr == "dragoman: this needs click, which is not installed (pip install 'dragoman[cli]')\n"


@pytest.mark.parametrize(("module", "extra"), [("asgi", "gateway"), ("testing", "emulators")])
def test_a_module_without_its_extra_names_it(module: str, extra: str) -> None:
    done = run_with({"msgspec"}, f"import dragoman.{module}")
    assert f"pip install 'dragoman[{extra}]'" in done.stderr.splitlines()[-1]


def test_the_command_loads_little() -> None:
    absent = ("rich", "uvicorn", "yaml", "jinja2")
    check = f"import dragoman.cli, sys\nprint([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_result_is_shown_on_one_short_line() -> None:
    long = {"messages": [{"role": "user", "content": "word " * 500} for _ in range(20)], "seed": 7}
    adapted = dragoman.adapt(long, target="anthropic/claude-sonnet-4-6")
    refused = adapted.answer(b'{"error": {"message": "' + b"no " * 5000 + b'"}}', 400)
    results = [adapted, refused, refused.failure, adapted.stream(), *adapted.changes]
    state = dragoman.State(media={"https://x/y": b"x" * 5000})
    for result in [*results, state, dragoman.Policy(), dragoman.Usage(), *dragoman.lint(long, targets="openai/gpt-5")]:
        assert len(repr(result)) < 300, repr(result)[:400]
        assert "\n" not in repr(result)


def test_the_signature_is_the_one_that_is_promised() -> None:
    names = ["request", "target", "source", "policy", "state", "stream", "headers", "profiles"]
    parameters = inspect.signature(dragoman.adapt).parameters
    assert list(parameters) == names
    assert [parameters[name].default for name in names[2:]] == ["auto", None, None, None, None, None]
    assert {parameters[name].kind for name in names[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert inspect.signature(dragoman.lint).parameters["source"].default == "auto"
