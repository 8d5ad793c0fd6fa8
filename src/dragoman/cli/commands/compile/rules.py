"""`dragoman rules`: the list of rules, or the page of one."""

from __future__ import annotations

import click

from dragoman.cli.output.console import echo_json, print_beside, print_prose, print_table, rich_console
from dragoman.cli.value_completion import complete_rules
from dragoman.engine.library.lint import headline
from dragoman.errors import OptionError, near_match
from dragoman.rules import BY_NAME, GROUPS
from dragoman.rules.rule import FAIL, KEEP, Rule


@click.command()
@click.argument("name", required=False, shell_complete=complete_rules)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(name: str | None, as_json: bool) -> None:
    """List the rules in the order in which they run, or show the page of one.

    Besides its own options, every rule takes `keep` (change nothing) and `fail` (refuse the request).
    """
    if name is not None and name not in BY_NAME:
        raise OptionError(f'no rule is called "{name}". {near_match(name, BY_NAME)}')
    if as_json:
        described = [_plain(group, rule) for group, rule in _all() if name in (None, rule.name)]
        echo_json(described[0] if name else described)
    elif name is None:
        rows = [(rule.name, group, headline(rule), str(rule.loses)) for group, rule in _all()]
        print_table(("rule", "group", "defect", "loses at most"), rows)
    else:
        _page(BY_NAME[name])


def _all() -> list[tuple[str, Rule]]:
    return [(group, rule) for group, members in GROUPS.items() for rule in members]


def _page(rule: Rule) -> None:
    rich_console().print(f"[bold cyan]{rule.name}[/]", highlight=False)
    print_prose(f"\n{rule.text}\n\n")
    print_beside("Options: ", ", ".join(_options(rule)))


def _options(rule: Rule) -> list[str]:
    own = list(rule.options)
    if own and not rule.optional:
        own[0] += " (default)"
    return [*own, *(["any text"] if rule.free else []), KEEP, FAIL]


def _plain(group: str, rule: Rule) -> dict[str, object]:
    return {
        "name": rule.name,
        "group": group,
        "loses": str(rule.loses),
        "options": [*rule.options, KEEP, FAIL],
        "optional": rule.optional,
        "text": rule.text,
    }
