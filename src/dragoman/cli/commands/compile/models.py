"""`dragoman models`: the models that providers run, with their sizes and prices."""

from __future__ import annotations

import click

from dragoman.cli.inputs.compile_context import json_option
from dragoman.cli.output.console import echo_json, print_table
from dragoman.errors import OptionError, near_match
from dragoman.profiles.offers import OfferedModel, list_offered_models, list_offers

_THINKS = {True: "yes", False: "no", None: "?"}


@click.command()
@click.option("--provider", help="Only the models of this profile.")
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table", show_default=True)
@json_option
def models(provider: str | None, shape: str, as_json: bool) -> None:
    """List the models that are known, with context window, limit of an answer, input, thinking and prices.

    Prices are in US dollars for a million tokens. What is not known is left empty, or null in JSON. The list is data
    with date and source; a provider may run more. A gateway's own list is GET /v1/models.
    """
    known = sorted({offer.profile for offer in list_offers()})
    if provider is not None and provider not in known:
        raise OptionError(f'no models are known of "{provider}". {near_match(provider, known)}')
    found = list_offered_models(provider)
    if as_json or shape == "json":
        echo_json(found)
        return
    head = ("provider", "model", "window", "answer", "reads", "thinks", "input $", "output $")
    print_table(head, [_row(model) for model in found])


def _row(model: OfferedModel) -> tuple[str, ...]:
    return (
        model.provider,
        model.model,
        str(model.context_window or ""),
        str(model.output_limit or ""),
        ", ".join(kind for kind in model.input if kind != "text"),
        _THINKS[model.thinking],
        _amount(model.input_price),
        _amount(model.output_price),
    )


def _amount(price: float | None) -> str:
    return "" if price is None else f"{price:g}"
