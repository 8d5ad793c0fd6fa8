"""How a fact is declared: what it is about, and the small conversation by which anybody can be asked for it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Meta


class Asked(msgspec.Struct, frozen=True):
    """How anybody who takes conversations is asked for a fact: by a small one with one odd thing in it."""

    script: str = ""
    """Its turns, with semicolons between them. A script that does not begin with the user stands before the first turn
    of a conversation, one that ends with `end` at its end, any other in the middle.

    `user`, `assistant` and `system` say something ordinary, `user Good day.` says this, `user ""` nothing, `user -` has
    no content, `user [Good|evening.]` has two texts; ` @name=ann` after a turn or a text is a field of it. `call a b`
    makes two calls, `call a!` one whose arguments are no object, `call a: Look.` one after words, `call a > Look.` one
    before them; `result b a` answers calls in this order."""
    tools: str = ""
    """Tools: `lookup` is an ordinary one, `lookup ""` has an empty description, `lookup -` has no schema."""
    also: tuple[str, ...] = ()
    """Whole conversations that a chat template must take too. Tools are declared beside calls, or by `+tools`."""
    values: tuple[Any, Any] = ("accepts", "refuses")
    """What the fact says if the conversation is accepted, and if it is refused."""
    words: tuple[str, ...] = ()
    """Words that a refusal uses for what is asked, besides the names in the script."""
    after: tuple[str, ...] = ()
    """Questions that must be accepted first, besides those that follow from the script."""
    often: bool = False
    """Is it often refused? Then it is the first suspect."""


def asked(description: str, script: str = "", *, form: bool = False, **more: Any) -> Meta:
    """What a fact is about, and how it is asked for. `form`: see `form`."""
    return Meta(description=description, extra={"asked": Asked(script, **more), "form": form})


def form(description: str) -> Meta:
    """What a fact is about that concerns form alone: the careful form is undone in the answer, or says the same.

    So there is nothing to lose, and a doubt about it is decided with care at once, also in the client's own dialect."""
    return Meta(description=description, extra={"form": True})
