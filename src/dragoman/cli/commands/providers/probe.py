"""`dragoman probe`: find out what a server accepts, and write it down as a profile."""

from __future__ import annotations

import asyncio
import datetime
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec
from msgspec.structs import replace

from dragoman import __version__
from dragoman.cli.output.console import print_note, print_table, printable
from dragoman.conversation.failures import Failure
from dragoman.errors import OptionError, ProbeError, near_match
from dragoman.probe.asked_dialects import AskedDialect, list_asked
from dragoman.probe.check import Agreement, ComparedFact, compare_facts
from dragoman.probe.findings import ProbeFinding, facts_found
from dragoman.probe.inquiry import Inquiry, ProbeRequest
from dragoman.probe.live.address import FoundServer, Headers, SoughtServer, find_server
from dragoman.probe.live.asking import ProbeRun, ProbeTally
from dragoman.probe.live.budget import ProbeBudget, highest_cost
from dragoman.probe.profile_file import MARK, FoundProfile, render_profile
from dragoman.probe.question import Verdict
from dragoman.probe.report import ProbeReport, render_report
from dragoman.probe.state_file import ProbeState, parse_state, render_state
from dragoman.profiles.profile import Key, Profiles, Target, builtin, builtin_names
from dragoman.store.journals.redaction import Redactor
from dragoman.upstream.transport.transport import Transport

_OUT = click.Path(path_type=Path, dir_okay=False)
_ADDRESS = re.compile(r"\A[\w.-]+:[0-9]+(/|$)")
"""Of a server, without its scheme."""
_FIND_SECONDS = 10.0


class _Wanted(msgspec.Struct, frozen=True):
    """What the user asks for."""

    sought: SoughtServer
    key: str
    key_env: str
    target: Target | None
    """The profile whose server is asked, if the user names one."""


class _Probed(msgspec.Struct, frozen=True):
    """What came of it."""

    found: FoundServer
    findings: tuple[ProbeFinding, ...]
    tally: ProbeTally
    skipped: dict[str, str]
    left: int

    @property
    def asked(self) -> AskedDialect:
        return self.found.server.asked


@click.command()
@click.argument("where", metavar="[URL|TARGET]", required=False)
@click.option("--model", default="", help="The model to ask; by default the first that the server lists.")
@click.option("--dialect", default="", help="Ask in this dialect; by default the first that the server speaks.")
@click.option("--key-env", default="", metavar="NAME", help="The environment variable that holds the key.")
@click.option("--requests", default=100, show_default=True, type=click.IntRange(1, 1000), help="Requests at most.")
@click.option("--seconds", default=120.0, show_default=True, type=click.FloatRange(1), help="Seconds at most.")
@click.option("--rate", default=5.0, show_default=True, type=click.FloatRange(0.1, 1000), help="Requests in a second.")
@click.option("--out", type=_OUT, metavar="NAME.toml", help="Write the profile; it is called after the file.")
@click.option("--check", is_flag=True, help="Compare the profile of TARGET with what its server does.")
@click.option(
    "--report", "report_file", type=_OUT, metavar="FILE", help="Write a report to send in: no keys, no content."
)
@click.option("--template", type=_OUT, metavar="FILE", help="Run a chat template instead: Jinja, its JSON, or GGUF.")
@click.option("--server", metavar="URL", help="Run the chat template that this server tells (llama.cpp, Ollama).")
@click.option("--with-host", is_flag=True, help="Name the server's host in the report.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run of the same --out ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the report instead of a table.")
def probe(
    *,
    where: str | None,
    model: str,
    dialect: str,
    key_env: str,
    requests: int,
    seconds: float,
    rate: float,
    out: Path | None,
    check: bool,
    report_file: Path | None,
    template: Path | None,
    server: str | None,
    with_host: bool,
    resume: bool,
    as_json: bool,
) -> int:
    """Find out what a server accepts, by some dozens of tiny requests, and write it down as a profile.

    URL is the address of a server, TARGET is PROFILE/MODEL. The requests have one token of output each. It stops at a
    refused key or a spent quota, waits as long as the server wants, and ends within its budget with what it knows.
    With --check the exit code is 1 if the profile is wrong.

    With --template or --server nobody is asked: the chat template is run in a sandbox over the same questions.
    """
    if out is not None:
        check_overwriting(out)
    if len([one for one in (where, template, server) if one is not None]) != 1:
        raise OptionError("give one of URL, TARGET, --template and --server", at="probe")
    if where is None:
        from dragoman.cli.template_probe import show_template

        return show_template(template, server, model, _bearer(key_env), out, as_json=as_json)
    wanted = _find_wanted(where, model, dialect, key_env)
    if check and wanted.target is None:
        raise OptionError("there is no profile to compare with", at="--check", hint="give PROFILE/MODEL, not a URL")
    if resume and out is None:
        raise OptionError("it goes on from the file beside --out", at="--resume", hint="give --out too")
    state_path = _state_path(out)
    probed = asyncio.run(_ask(wanted, ProbeBudget(requests, seconds, rate), state_path, resume))
    _finish(probed, state_path)
    compared = _compare(wanted, probed)
    report = _report(wanted, probed, compared if check else (), with_host)
    if out is not None:
        out.write_text(render_profile(_profile(out.stem, wanted, probed)), "utf-8")
        print_note(f"wrote {out}")
    if report_file is not None:
        report_file.write_bytes(render_report(report))
        print_note(f"wrote {report_file}: read it before you send it")
    if as_json:
        click.echo(render_report(report).decode(), nl=False)
    elif check:
        _show_check(compared)
    else:
        _show(probed)
    wrong = any(one.agreement is Agreement.OTHER for one in compared)
    return 1 if not probed.findings or (check and wrong) else 0


def check_overwriting(out: Path) -> None:
    """Only what a probe wrote is written anew, and only where it can be. Raises OptionError."""
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise OptionError(f"{out} cannot be written", at="--out", hint="choose a folder that you may write to")
    if out.is_file() and not out.read_text("utf-8", "replace").startswith(MARK):
        raise OptionError(f"{out} exists, and no probe wrote it", at="--out", hint="move it, or choose another name")


def _find_wanted(where: str, model: str, dialect: str, key_env: str) -> _Wanted:
    if dialect and dialect not in list_asked():
        raise OptionError(f"nothing is asked in {dialect}. {near_match(dialect, list_asked())}", at="--dialect")
    if "://" in where:
        key = _key((key_env,)) if key_env else ""
        sought = SoughtServer(where, model, lambda name: _usual_headers(name, key), (dialect,) if dialect else ())
        return _Wanted(sought, key, key_env, None)
    if _ADDRESS.match(where):
        raise OptionError(f"{where} is no URL", at="probe", hint=f"write http://{where} or https://{where}")
    return _wanted_target(where, model, key_env)


def _usual_headers(dialect: str, key: str) -> Headers:
    """The key as servers of a dialect take it, by the profile that has the dialect's name; else as most do."""
    return _key_headers(_usual_key(dialect), key)


def _usual_key(dialect: str) -> Key:
    return builtin(dialect).key if dialect in builtin_names() else Key()


def _key_headers(form: Key, key: str) -> Headers:
    return ((form.header, f"{form.scheme} {key}".lstrip()),) if key else ()


def _wanted_target(where: str, model: str, key_env: str) -> _Wanted:
    target = Profiles().target(where if "/" in where else f"{where}/{model or '-'}")
    profile = target.profile
    if target.dialect not in list_asked():
        raise ProbeError(f"{profile.name} speaks {target.dialect}, in which nothing is asked", at=where)
    url = os.environ.get(profile.url_env, "") if profile.url_env else ""
    if not (url or profile.url):
        raise ProbeError("the profile has no address", at=where, hint="give the URL of the server")
    key = _key((key_env,) if key_env else profile.key.names, required=bool(key_env))
    headers = (*profile.headers.items(), *_key_headers(profile.key, key))
    asked = model or ("" if target.model == "-" else target.model)
    sought = SoughtServer(url or profile.url, asked, lambda name: headers, (target.dialect,))
    return _Wanted(sought, key, key_env, target)


def _bearer(key_env: str) -> Headers:
    return (("authorization", f"Bearer {_key((key_env,))}"),) if key_env else ()


def _key(names: tuple[str, ...], required: bool = True) -> str:
    found = next((value for name in names if (value := os.environ.get(name, "").strip())), "")
    if not found and required:
        raise OptionError(f"the environment has no {' or '.join(names)}", at="--key-env", hint="export it first")
    return found


async def _ask(wanted: _Wanted, budget: ProbeBudget, state_path: Path | None, resume: bool) -> _Probed:
    redactor = Redactor([wanted.key] if wanted.key else [])
    async with Transport() as transport:
        found = await find_server(wanted.sought, transport, min(_FIND_SECONDS, budget.seconds))
        inquiry = Inquiry(found.server.asked, _read_known(found, state_path) if resume else ())
        _announce(found, budget)

        def note(request: ProbeRequest, failure: Failure | None) -> None:
            _keep(found, inquiry, state_path)

        tally = await ProbeRun(found.server, transport, budget, note, redactor.text).run(inquiry)
    _keep(found, inquiry, state_path)
    return _Probed(found, inquiry.findings, tally, inquiry.skipped, len(inquiry.open))


def _finish(probed: _Probed, state_path: Path | None) -> None:
    """Nothing is left to go on with after a complete run."""
    if probed.tally.ended:
        print_note(f"ended early: {printable(probed.tally.ended)}")
        if probed.left and state_path is not None:
            print_note(f"{probed.left} questions are left; --resume goes on from here")
    elif state_path is not None:
        state_path.unlink(missing_ok=True)


def _announce(found: FoundServer, budget: ProbeBudget) -> None:
    cost = highest_cost(found.server.asked, budget.requests)
    print_note(
        f"asking {printable(found.server.model)} at {printable(found.server.url)}: at most {cost.requests} requests in"
        f" {budget.seconds:g} s, {cost.input_tokens:,} tokens in and {cost.output_tokens:,} out"
    )


def _state_path(out: Path | None) -> Path | None:
    return None if out is None else out.with_suffix(".probe.json")


def _read_known(found: FoundServer, state_path: Path | None) -> tuple[ProbeFinding, ...]:
    if state_path is None or not state_path.is_file():
        return ()
    return parse_state(state_path.read_bytes(), str(state_path), found.server.url, found.server.model).findings


def _keep(found: FoundServer, inquiry: Inquiry, state_path: Path | None) -> None:
    if state_path is not None:
        state_path.write_bytes(render_state(ProbeState(found.server.url, found.server.model, inquiry.findings)))


def _profile(name: str, wanted: _Wanted, probed: _Probed) -> FoundProfile:
    remarks: tuple[str, ...] = (f"{probed.tally.requests} requests in {probed.tally.seconds:.0f} s.",)
    if probed.tally.ended:
        remarks = (*remarks, f"It ended early: {probed.tally.ended}")
    others = len({*probed.found.models} - {probed.found.server.model})
    if others:
        remarks = (*remarks, f"Asked with the model {probed.found.server.model}; {others} others may differ.")
    window = {"context_window": probed.found.window} if probed.found.window else {}
    return FoundProfile(
        name=name,
        facts=facts_found(probed.findings, probed.asked.questions) | window,
        findings=probed.findings,
        questions=probed.asked.questions,
        seen=_today(),
        source="dragoman probe",
        url=probed.found.base,
        dialect=probed.asked.name,
        model=probed.found.server.model,
        key=_find_key(wanted, probed.asked.name),
        remarks=remarks,
    )


def _find_key(wanted: _Wanted, dialect: str) -> Key | None:
    form = _usual_key(dialect) if wanted.target is None else wanted.target.profile.key
    return replace(form, env=wanted.key_env) if wanted.key_env else None


def _compare(wanted: _Wanted, probed: _Probed) -> tuple[ComparedFact, ...]:
    if wanted.target is None:
        return ()
    return compare_facts(wanted.target.facts, facts_found(probed.findings, probed.asked.questions))


def _report(wanted: _Wanted, probed: _Probed, compared: tuple[ComparedFact, ...], with_host: bool) -> ProbeReport:
    return ProbeReport(
        dragoman=__version__,
        seen=_today(),
        model=probed.found.server.model,
        dialect=probed.asked.name,
        requests=probed.tally.requests,
        seconds=round(probed.tally.seconds, 1),
        ended=probed.tally.ended,
        facts=facts_found(probed.findings, probed.asked.questions),
        findings=probed.findings,
        profile="" if wanted.target is None else wanted.target.profile.name,
        host=urlsplit(probed.found.server.url).netloc if with_host else "",
        compared=compared,
    )


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _show(probed: _Probed) -> None:
    asked = {question.id: question for question in probed.asked.questions}
    refused = [finding for finding in probed.findings if finding.verdict is Verdict.REFUSED]
    rows = [(asked[one.question].asks, "refuses", one.says) for one in refused]
    rows += [(asked[name].asks, "unknown", why) for name, why in probed.skipped.items()]
    if rows:
        print_table(("question", "answer", "in its words"), rows)
    accepted = len(probed.findings) - len(refused)
    click.echo(
        f"{accepted} questions accepted, {len(refused)} refused, {len(asked) - len(probed.findings)} left out or"
        f" open; {probed.tally.requests} requests in {probed.tally.seconds:.1f} s"
    )


def _show_check(compared: tuple[ComparedFact, ...]) -> None:
    rows = [
        (one.fact, str(one.stated or "unknown"), str(one.found), one.agreement.value)
        for one in compared
        if one.agreement is not Agreement.SAME
    ]
    if rows:
        print_table(("fact", "the profile says", "the server says", ""), rows)
    same = len(compared) - len(rows)
    wrong = sum(one.agreement is Agreement.OTHER for one in compared)
    click.echo(f"{same} facts hold, {wrong} do not, {len(rows) - wrong} are new")
