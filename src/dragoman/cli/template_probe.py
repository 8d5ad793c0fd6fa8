"""`dragoman probe --template` and `--server`: what a chat template says, without asking anybody."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path

import click

from dragoman.cli.output.console import echo_json, print_note, print_table, printable
from dragoman.errors import ProbeError
from dragoman.probe.live.address import Headers
from dragoman.probe.live.server_template import find_template
from dragoman.probe.profile_file import FoundProfile, render_profile
from dragoman.probe.question import Verdict
from dragoman.probe.template.prober import TemplateFindings, probe_template
from dragoman.probe.template.sources import TemplateSource, read_template_file
from dragoman.upstream.transport.transport import Transport

_SECONDS = 10.0


def show_template(
    file: Path | None, server: str | None, model: str, headers: Headers, out: Path | None, *, as_json: bool
) -> int:
    """Run the template of a file or of a server, and print or write what it says."""
    source = read_template_file(file) if file is not None else asyncio.run(_of_server(server or "", model, headers))
    found = probe_template(source)
    if out is not None:
        out.write_text(render_profile(_profile(out.stem, server or "", found)), "utf-8")
        print_note(f"wrote {out}")
    if as_json:
        echo_json(found)
    else:
        _show(found)
    return 0


async def _of_server(url: str, model: str, headers: Headers) -> TemplateSource:
    async with Transport() as transport:
        source = await find_template(url, model, headers, transport, _SECONDS)
    if source is None:
        raise ProbeError(
            "the server tells no Jinja template at /props or /api/show", at=url, hint=f"ask it: dragoman probe {url}"
        )
    return source


def _profile(name: str, url: str, found: TemplateFindings) -> FoundProfile:
    remarks = (f"{found.renderings} conversations were rendered.", *(f"Not solved: {one}" for one in found.unsolved))
    return FoundProfile(
        name=name,
        facts=found.facts,
        findings=found.findings,
        questions=found.questions,
        seen=datetime.datetime.now(datetime.UTC).date(),
        source=f"dragoman probe, by the template of {found.origin}",
        url=url,
        remarks=remarks,
        losses=found.losses,
        like=found.like,
    )


def _show(found: TemplateFindings) -> None:
    asked = {question.id: question.asks for question in found.questions}
    rows = [
        (asked.get(one.question, one.question), one.verdict.value, one.says)
        for one in found.findings
        if one.verdict is not Verdict.ACCEPTED
    ]
    if rows:
        print_table(("question", "verdict", "in its words"), rows)
    for loss in found.losses:
        click.echo(f"never read by the model: {printable(loss.what)}")
    for one in found.unsolved:
        click.echo(f"not solved: {printable(one)}")
    click.echo(f"{len(found.findings)} questions, {found.renderings} conversations rendered")
