"""`missing-description`: a tool without a description."""

from __future__ import annotations

from tests.rules.runs import facts, run, sent
from tests.rules.test_empty_description import described

from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.tools.missing_description import missing_description

REFUSES = facts(tools_without_description="refuses")


def test_it_gets_an_empty_one() -> None:
    done = run(missing_description, described(None, "Looks.", "", None), REFUSES)
    assert [tool.description for tool in done.conversation.tools] == [b'""', b'"Looks."', b'""', b'""']
    assert done.changes == [("/tools/0", "nothing", False), ("/tools/3", "nothing", False)]
    assert done.did == ["gave f0 an empty description", "gave f3 an empty description"]


def test_untouched() -> None:
    assert run(missing_description, described("Looks.", ""), REFUSES).untouched
    assert run(missing_description, described(None), facts()).untouched


def test_adapt_for_a_template_that_reads_it() -> None:
    profiles = Profiles(layers=(Layer("test", {"tools_without_description": "refuses"}),))
    done = sent(described(None), "openai-compatible-lenient/m", profiles=profiles)
    assert done.json["tools"] == described("")["tools"]
    assert done.changes == [("missing-description", "/tools/0", "nothing", False)]
    assert sent(described(None), "openai-compatible-lenient/m").changes == []
