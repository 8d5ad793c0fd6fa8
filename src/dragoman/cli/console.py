"""What is told to a person: errors in one line, tables that fit a terminal or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# A text of a request may hold anything, a terminal's commands too.
_HIDDEN = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F))
}
_KEPT_LINES = {**_HIDDEN, ord("\n"): "\n"}

ROWS = 200
"""So many rows of a table are shown; a longer one is better read as JSON."""


def clean(text: str) -> str:
    """One line in which nothing can move the cursor."""
    return text.translate(_HIDDEN)


def clean_lines(text: str) -> str:
    return text.translate(_KEPT_LINES)


def complain(message: str) -> None:
    """`dragoman: WHERE: what (hint)` on the error stream, in one line whatever it quotes."""
    remark(f"dragoman: {clean(message)}")


def remark(line: str) -> None:
    """A line on the error stream, beside the results. A progress bar there makes way for it (click writes past it)."""
    print(line, file=sys.stderr, flush=True)


def on_terminal(stream: IO[Any]) -> bool:
    return stream.isatty()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False) -> None:
    """A table: drawn on a terminal, aligned columns elsewhere."""
    shown = [tuple(clean(cell) for cell in row) for row in rows[:ROWS]]
    if on_terminal(sys.stderr if err else sys.stdout):
        _draw(head, shown, err)
    else:
        _align(shown, err)
    if len(rows) > ROWS:
        click.echo(f"… and {len(rows) - ROWS:,} more (--json tells all)", err=err)


def console(err: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=err, highlight=False, soft_wrap=False)


def _draw(head: Sequence[str], rows: Sequence[Sequence[str]], err: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, title in enumerate(head):
        drawn.add_column(title, style="cyan" if index == 0 else None, no_wrap=index == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console(err).print(drawn)


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
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip(), err=err)


def pretty_json(body: bytes) -> None:
    """JSON for a person, coloured."""
    import msgspec
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    text = Text(clean_lines(msgspec.json.format(body, indent=2).decode()))
    JSONHighlighter().highlight(text)
    console().print(text, soft_wrap=True)
