"""Output for people: errors in one line, tables for a terminal or a file."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# A request may contain control characters, which a terminal would execute.
_HIDDEN = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F))
}
_KEPT_LINES = {**_HIDDEN, ord("\n"): "\n"}

WIDEST = 70
"""Columns are aligned up to this width. A longer cell makes its own line longer, and no other."""
_NARROWEST = 20
"""Lines are not made shorter than this."""
ROWS = 200
"""The most rows of a table that are printed. Longer ones are better read as JSON."""


def printable(text: str) -> str:
    """The text in one line, with control characters escaped."""
    return text.translate(_HIDDEN)


def printable_lines(text: str) -> str:
    return text.translate(_KEPT_LINES)


def print_error(message: str) -> None:
    """Print `dragoman: WHERE: what (hint)` to standard error, always in one line."""
    print_note(f"dragoman: {printable(message)}")


def print_note(line: str) -> None:
    """Print a line to standard error. A progress bar moves down for it, which `click.echo` would not cause."""
    print(line, file=sys.stderr, flush=True)


def is_terminal(stream: IO[Any]) -> bool:
    return stream.isatty()


def print_beside(head: str, text: str, *, err: bool = False) -> None:
    """Print a text to the right of its head. On a terminal that is too narrow for the line it goes on below itself, and
    words stay whole."""
    margin = len(click.unstyle(head))
    click.echo(head + ("\n" + " " * margin).join(_fit_text(text, margin, err)), err=err)


def print_prose(text: str) -> None:
    """Print paragraphs. On a terminal that is too narrow for them they are filled anew, but for what is indented."""
    for is_prose, group in groupby(text.splitlines(), lambda line: line[:1].strip() != ""):
        lines = list(group)
        if is_prose and _is_too_wide(lines):
            lines = _fit_text(" ".join(lines))
        click.echo("\n".join(lines))


def _fit_text(text: str, margin: int = 0, err: bool = False) -> list[str]:
    """The lines of a text, to the right of a margin: one, except on a terminal that is too narrow for it."""
    if not _is_too_wide([text], margin, err):
        return [text]
    room = max(rich_console(err).width - margin, _NARROWEST)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)


def _is_too_wide(lines: Sequence[str], margin: int = 0, err: bool = False) -> bool:
    stream = sys.stderr if err else sys.stdout
    return is_terminal(stream) and margin + max(map(len, lines)) > rich_console(err).width


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False, always_head: bool = False
) -> None:
    """Print a table: with lines on a terminal, as aligned columns elsewhere. Those have a head only if asked for."""
    shown = [tuple(printable(cell) for cell in row) for row in rows[:ROWS]]
    if is_terminal(sys.stderr if err else sys.stdout):
        _draw(head, shown, err)
    else:
        _align([tuple(head), *shown] if always_head else shown, err)
    if len(rows) > ROWS:
        click.echo(f"… and {len(rows) - ROWS:,} more (--json prints all)", err=err)


def rich_console(err: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=err, highlight=False, soft_wrap=False)


_LONGEST_WORD = 48
"""A longer word of a table may be broken."""
_GAP = 3


def _draw(head: Sequence[str], rows: Sequence[Sequence[str]], err: bool) -> None:
    """A table; a list if the terminal is too narrow for one, because half a number is a wrong number."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = rich_console(err)
    widths = _fit_columns(list(zip(head, *rows, strict=True)), console.width - _GAP * len(head))
    if widths is None:
        _list(head, rows, console.width, err)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, (title, width) in enumerate(zip(head, widths, strict=True)):
        table.add_column(title, style="cyan" if index == 0 else None, width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console.print(table)


def _fit_columns(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column, at least that of its longest word; None if there is no room for that. The columns with
    the longest sentences give way first."""
    widths = [max(map(len, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]
    for at in sorted(range(len(widths)), key=lambda at: least[at] - widths[at]):
        widths[at] = max(least[at], widths[at] - max(sum(widths) - room, 0))
    return widths if sum(widths) <= room else None


def _longest_word(cell: str) -> int:
    return min(max(map(len, cell.split()), default=0), _LONGEST_WORD)


def _list(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, err: bool) -> None:
    """Each row as its first cell, and below it the others with their titles, as many in a line as fit."""
    for row in rows:
        click.secho(row[0], fg="cyan", err=err)
        lines: list[str] = []
        for pair in [f"{title} {cell}" for title, cell in zip(head[1:], row[1:], strict=True) if cell]:
            if lines and len(lines[-1]) + len(pair) + 4 <= width:
                lines[-1] += f"  {pair}"
            else:
                lines.append(pair)
        for line in lines:
            first, _, rest = line.partition(" ")
            print_beside(f"  {first} ", rest, err=err)


_STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "content": "red",
    "authority": "yellow",
    "refuses": "red",
    "accepts": "green",
    "unknown": "yellow",
}


def _align(rows: Sequence[Sequence[str]], err: bool) -> None:
    widths = [min(WIDEST, max(len(cell) for cell in column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip(), err=err)


def echo_json(value: object) -> None:
    """Print a value as JSON, for programs."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def print_json(body: bytes) -> None:
    """Print JSON, indented and coloured."""
    import msgspec
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    text = Text(printable_lines(msgspec.json.format(body, indent=2).decode()))
    JSONHighlighter().highlight(text)
    rich_console().print(text, soft_wrap=True)
