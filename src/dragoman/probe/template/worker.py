"""The process that renders a template: JSON lines in, JSON lines out.

A template is a program of somebody else's. jinja2's sandbox keeps it from the interpreter, but bounds neither time nor
memory. So it runs in a process of its own, which this file is all of: it imports nothing of Dragoman, opens no file,
has no secrets in its environment, and is limited in memory, processor time, files and processes.
"""

from __future__ import annotations

import datetime
import json
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

OPEN_FILES = 16
"""At the same time: the three that it has, and modules that Python and jinja2 load when they first need them."""


class TimeIsUp(BaseException):
    """A rendering took longer than it may. jinja2 catches every Exception of a constant expression, and not this."""


class TooMuchText(Exception):
    """A rendering is longer than it may be."""


class Raised(Exception):
    """The template itself refuses the conversation, in its own words."""


class _Generation(Extension):
    """`{% generation %}`: marks the assistant's words for training. For a prompt it means nothing."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: object = "") -> str:
    raise Raised(str(message)[:2000])


def _strftime_now(form: str) -> str:
    return _NOW.strftime(str(form)[:200])


_NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)
"""One fixed moment: the same template and conversation give the same prompt."""


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as model servers write it: nothing is escaped for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _any_to_json(value: Any, *more: Any, **options: Any) -> str:
    """JSON as llama.cpp writes it: what a filter makes is a list at once."""
    return _to_json(list(value) if isinstance(value, Iterator) else value, *more, **options)


def make_environment(engine: str) -> SandboxedEnvironment:
    """The environment in which transformers, vLLM and SGLang run a chat template. llama.cpp has an engine of its own,
    where lists can be changed."""
    kind = SandboxedEnvironment if engine == "llama.cpp" else ImmutableSandboxedEnvironment
    made = kind(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = _any_to_json if engine == "llama.cpp" else _to_json
    made.filters["from_json"] = json.loads
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = _strftime_now
    return made


def limit_process(memory: int, seconds: int) -> None:
    """Bound what this process may use. If the system has no such limits, the parent's timer is the only one."""
    try:
        import resource
    except ImportError:
        return
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))


def rendered(template: jinja2.Template, variables: dict[str, Any], most: int) -> str:
    pieces: list[str] = []
    length = 0
    for piece in template.generate(**variables):
        length += len(piece)
        if length > most:
            raise TooMuchText
        pieces.append(piece)
    return "".join(pieces)


def answer(render: Callable[[], str], seconds: float) -> dict[str, str]:
    """What became of one conversation: its prompt, or why there is none."""
    try:
        with _Alarm(seconds):
            return {"prompt": render()}
    except Raised as fault:
        return {"refused": str(fault)}
    except TimeIsUp:
        return {"limit": f"it takes longer than {seconds:g} s"}
    except TooMuchText:
        return {"limit": "its prompt is too long"}
    except MemoryError:
        return {"limit": "it takes too much memory"}
    except RecursionError:
        return {"fault": "RecursionError: it calls itself without end"}
    except Exception as fault:
        return {"fault": f"{type(fault).__name__}: {fault}"[:2000]}


class _Alarm:
    """Ends what runs inside it after some seconds of processor time, if the system has such alarms. A busy machine
    does not make a template slow."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds if hasattr(signal, "setitimer") else 0.0

    def __enter__(self) -> None:
        if self._seconds:
            signal.signal(signal.SIGPROF, _time_is_up)
            signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __exit__(self, *_: object) -> None:
        if self._seconds:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _time_is_up(*_: object) -> None:
    raise TimeIsUp


_TO_COMPILE = 5.0


def answers(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The first line is the template and its limits, each further one the variables of a conversation."""
    setup = json.loads(next(lines))
    limit_process(setup["memory"], setup["processor"])
    environment = make_environment(setup["engine"])
    made: list[jinja2.Template] = []

    def compiled() -> str:
        made.append(environment.from_string(setup["template"]))
        return ""

    yield answer(compiled, max(_TO_COMPILE, setup["seconds"]))
    fixed = setup["variables"]
    for line in lines if made else ():
        variables = fixed | json.loads(line)
        yield answer(partial(rendered, made[0], variables, setup["characters"]), setup["seconds"])


def main() -> None:
    for reply in answers(iter(sys.stdin.readline, "")):
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
