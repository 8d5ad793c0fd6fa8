"""`dragoman completion`: the script that completes commands, options and their values in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_DRAGOMAN_COMPLETE"
"""The variable by which a shell asks the program itself; click reads it."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: commands, options and their values are completed.

    Load it in every new shell, for bash in ~/.bashrc: eval "$(dragoman completion bash)". For zsh write the same with
    zsh in ~/.zshrc; for fish write the output to ~/.config/fish/completions/dragoman.fish.
    """
    made = get_completion_class(shell)
    if made is None:  # click knows all of SHELLS; a future one may not
        raise click.ClickException(f"there is no completion for {shell}")
    click.echo(made(ctx.find_root().command, {}, "dragoman", VARIABLE).source())
