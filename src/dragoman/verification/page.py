"""The dated page of a run: what providers answered directly, what through the gateway, and what it cost."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from dragoman.conversation.replies import Usage
from dragoman.verification.run_state import TargetRun, TrialRun
from dragoman.verification.sending import SentRequest, Way
from dragoman.verification.trials import TRIALS, FixedConversation

_BY_ID = {trial.id: trial for trial in TRIALS}


def render_page(runs: Sequence[TargetRun], patches: dict[str, str], version: str, seen: datetime.date) -> str:
    """The page in Markdown. `patches`: for each target the patch for its profile, if one is needed."""
    lines = [
        f"# Verified on {seen}",
        "",
        f"Written by `dragoman verify`, version {version}. Each conversation was sent to the provider directly, and"
        " through the gateway.",
        "",
        *_table(("target", "directly", Way.GATEWAY, "facts", "price"), [_summary(run) for run in runs]),
    ]
    for run in runs:
        lines += ["", *_section(run, patches.get(run.target, ""))]
    return "\n".join(lines) + "\n"


def is_good(run: TrialRun) -> bool:
    """Whether the gateway did what it should: an answer, or an error if that is right."""
    sent = [one for one in run.sent if one.way is Way.GATEWAY]
    return bool(sent) and all(one.answered != _BY_ID[run.trial].misspells for one in sent)


def _summary(run: TargetRun) -> tuple[str, ...]:
    facts = run.facts
    return (
        f"`{run.target}`",
        *(_share(run, way) for way in Way),
        f"{len(facts.wrong)} wrong" if facts.findings else "not asked",
        f"${run.cost:.4f}",
    )


def _share(run: TargetRun, way: Way) -> str:
    tried = [one for one in run.runs if not _BY_ID[one.trial].misspells]
    good = [one for one in tried if all(sent.answered for sent in one.sent if sent.way is way)]
    return f"{len(good)} of {len(tried)} answered"


def _section(run: TargetRun, patch: str) -> Iterator[str]:
    yield f"## `{run.target}`"
    if run.ended or run.facts.ended:
        yield from ("", f"This run ended early: {_cell(run.ended or run.facts.ended)}")
    if not run.priced:
        yield from ("", "The price of this model is not known. A high one was assumed.")
    heads = ("conversation", "directly", Way.GATEWAY, "changed by the gateway")
    yield from ("", *_table(heads, [_outcome(_BY_ID[one.trial], one) for one in run.runs]), "")
    figures = ("conversation", "way", "tokens in", "cached", "written", "out", "thinking", "price", "seconds", "first")
    yield from _table(figures, [row for one in run.runs for row in _figures(one)])
    yield from _facts(run, patch)
    for one in run.runs:
        for sent in one.sent:
            yield from _bodies(one.trial, sent)


def _outcome(trial: FixedConversation, run: TrialRun) -> tuple[str, ...]:
    ways = ["; ".join(_describe_answer(sent) for sent in run.sent if sent.way is way) for way in Way]
    changes = "; ".join(dict.fromkeys(sent.changes for sent in run.sent if sent.changes))
    return trial.title, *ways, changes or "nothing"


def _describe_answer(sent: SentRequest) -> str:
    if sent.says:
        return f"{sent.status}: {sent.says}" if sent.status else f"not answered: {sent.says}"
    parts = [f"{sent.words} words"] if sent.words else []
    parts += [f"calls {', '.join(sent.calls)}"] if sent.calls else []
    parts += ["thinks"] if sent.thoughts else []
    return f"{sent.status}: {', '.join(parts) or 'nothing'} ({sent.stop})"


def _figures(run: TrialRun) -> Iterator[tuple[str, ...]]:
    for sent in run.sent:
        if not sent.answered:
            continue
        used = sent.usage or Usage()
        counts = (used.input, used.cached, used.cache_written, used.output, used.reasoning)
        name = run.trial if sent.turn == 1 else f"{run.trial}, turn {sent.turn}"
        times = (f"{sent.seconds:.2f}", f"{sent.first_seconds:.2f}")
        yield name, sent.way, *map(str, counts), f"${sent.cost:.5f}", *times


def _facts(run: TargetRun, patch: str) -> Iterator[str]:
    facts = run.facts
    if not facts.findings:
        return
    counts = f"{facts.held} hold or are new, {len(facts.wrong)} are wrong, {len(facts.careful)} may be too careful"
    yield from ("", f"Facts, by {facts.requests} requests of the probe: {counts}.")
    if facts.wrong or facts.careful:
        rows = [(f"`{one.fact}`", str(one.stated), str(one.found)) for one in (*facts.wrong, *facts.careful)]
        yield from ("", *_table(("fact", "the profile says", "the provider does"), rows))
    if patch:
        yield from ("", "A patch for the profile:", "", "```diff", patch.rstrip("\n"), "```")


def _bodies(trial: str, sent: SentRequest) -> Iterator[str]:
    for kind, body in (("request", sent.request), ("answer", sent.answer)):
        if body:
            yield from ("", f"{trial}, {sent.way}, turn {sent.turn}, {kind}:", "", "````text", body, "````")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in (head, *rows)]
    return [shown[0], f"|{'---|' * len(head)}", *shown[1:]]


def _cell(text: str) -> str:
    """A text of others in one cell: no line, no column and no markup of its own."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return plain.replace("|", "\\|").replace("<", "&lt;")
