"""The facts that a chat template states.

Trials ask it for one thing at a time. Then whole conversations are rehearsed, to check that the facts suffice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.errors import TemplateError
from dragoman.probe.findings import FoundBy, ProbeFinding, ProbeLoss
from dragoman.probe.question import Outcome, Question, Topic, Verdict
from dragoman.probe.questions_by_dialect.question_kinds import ACCEPTS, REFUSES
from dragoman.probe.template import trials
from dragoman.probe.template.prompts import PromptMaker
from dragoman.probe.template.rehearsal import Rehearsal
from dragoman.probe.template.renderer import Rendering, RenderLimits
from dragoman.probe.template.sources import TemplateSource
from dragoman.probe.template.tool_schemas import schema_form_for
from dragoman.profiles.profile import merge

LIKE = "openai-compatible-lenient"
"""The built-in profile that a profile from a template is like: a Chat server that ignores what it does not know."""

SERVER_FACTS: Mapping[str, Any] = {
    "off_schema": REFUSES,
    "unknown_role": REFUSES,
    "legacy_calls": REFUSES,
    "custom_tools": REFUSES,
    "native_tools": [],
    "refusal_part": REFUSES,
    "bad_arguments": REFUSES,
    "duplicate_ids_in_turn": REFUSES,
    "empty_tools": REFUSES,
    "empty_calls": REFUSES,
    "citation_part": REFUSES,
    "block_kinds": ["text", "image_url", "input_audio", "video_url"],
    "media_forms": [],
    "tool_name_pattern": "",
    "empty_beside": REFUSES,
    "strict_tools": ACCEPTS,
    "schema_form": "object",
    "tool_choices": ["auto", "none", "required", "named"],
    "media": {
        "image": {"assistant": REFUSES, "system": REFUSES, "result": REFUSES},
        "audio": {"inline": REFUSES, "url": REFUSES},
        "video": {"inline": REFUSES, "url": REFUSES},
        "document": {"inline": REFUSES, "url": REFUSES, "stored": REFUSES},
    },
}
"""What holds whatever the template is. A template reads messages, calls and tools by their names in the Chat format:
what is spelled otherwise is not refused but never seen, so it must be written as the format has it."""

_BLANKS = (
    ("empty", trials.TemplateForms(blank="")),
    ("absent", trials.TemplateForms()),
    ("null", trials.TemplateForms(null=True)),
    ("", trials.TemplateForms(empty_list=True)),
)
"""What may stand for the content of a turn of calls, the safest first. The last one is only put up with."""


_UNREPAIRED = ("tools", "tools-without-system", "tool-descriptions", "reasoning")
"""What cannot be said otherwise if the template leaves it out. All else is: a system message as a user turn, calls
and results as text, an image as a line of text."""


class TemplateFindings(msgspec.Struct, frozen=True):
    """What is known of a template."""

    facts: Mapping[str, Any]
    """Those of its profile."""
    findings: tuple[ProbeFinding, ...]
    questions: tuple[Question, ...]
    losses: tuple[ProbeLoss, ...]
    """What it leaves out of the prompt."""
    origin: str
    renderings: int
    """How many conversations were rendered."""
    unsolved: tuple[str, ...] = ()
    """Why some of the rehearsed conversations fail all the same."""
    ended: bool = False
    """Whether the template ran into a limit, and more could not be found."""
    parses: bool = True
    """Whether the server must parse the arguments of calls."""
    like: str = LIKE
    """The built-in profile that it is like."""


def probe_template(source: TemplateSource, limits: RenderLimits | None = None) -> TemplateFindings:
    """The facts of a template. Raises TemplateError if it cannot be run or takes no conversation at all."""
    with PromptMaker(source, limits) as prompts:
        return TemplateProber(source, prompts).probe()


class TemplateProber:
    """Asks one template, and gathers what it answers."""

    def __init__(self, source: TemplateSource, prompts: PromptMaker) -> None:
        self._source = source
        self._prompts = prompts
        self._forms = trials.TemplateForms()
        self._verdicts: dict[str, Verdict] = {}
        self._findings: list[ProbeFinding] = []
        self._questions: list[Question] = []
        self._losses: list[ProbeLoss] = []
        self._facts: dict[str, Any] = dict(SERVER_FACTS)

    def probe(self) -> TemplateFindings:
        self._find_text_form()
        declared = tuple(trials.declared_trials(SERVER_FACTS))
        for trial in (*trials.FIRST_TRIALS, *(one for one in declared if one.topic is not Topic.CALLS)):
            self._ask(trial)
        self._look_at_images()
        self._find_tools()
        self._find_calls([one for one in declared if one.topic is Topic.CALLS])
        self._find_reasoning()
        if self._source.context_window:
            self._facts["context_window"] = self._source.context_window
        unseen = [word for word in self._lost if word in _UNREPAIRED]
        if unseen:
            self._facts["drops"] = unseen
        unsolved = self._rehearse()
        return TemplateFindings(
            facts=self._facts,
            findings=tuple(self._findings),
            questions=tuple(self._questions),
            losses=tuple(self._losses),
            origin=self._source.origin,
            renderings=self._prompts.made,
            unsolved=unsolved,
            ended=self._prompts.ended,
            parses=self._prompts.parses,
        )

    @property
    def _lost(self) -> list[str]:
        return [one.what for one in self._losses]

    def _find_text_form(self) -> None:
        """A string, or a list of parts if the template reads no string. Else it takes no conversation at all."""
        tried: list[Rendering] = []
        for listed, assumes in ((False, False), (True, False), (False, True), (True, True)):
            self._prompts.assumes = assumes
            forms = trials.TemplateForms(listed=listed)
            rendering = self._prompts.make(trials.body(forms.user("userword")))
            if _carries(rendering, ("userword",)) and not (listed and _carries(rendering, ("type",))):
                self._forms = forms
                verdict = Verdict.REFUSED if listed else Verdict.ACCEPTED
                self._note(
                    "strings",
                    "text content as a string",
                    Topic.FORMS,
                    verdict,
                    facts={"string_content": REFUSES if listed else ACCEPTS},
                    tried=tried,
                )
                return
            tried.append(rendering)
        why = tried[0].says or "the words of the user are not in the prompt"
        raise TemplateError(f"the template takes no conversation at all: {why}", at=self._source.origin)

    def _look_at_images(self) -> None:
        """An image is seen if the prompt is another with it than without it. A server may name its part `image`."""
        if self._verdicts.get("images") is not Verdict.ACCEPTED:
            return
        without = self._prompts.make(trials.body({"role": "user", "content": [_text("alphaword")]})).prompt
        for kind in ("image_url", "image"):
            part = (
                {"type": kind, "image_url": {"url": "https://example.com/a.png"}}
                if kind == "image_url"
                else {"type": kind}
            )
            shown = self._prompts.make(trials.body({"role": "user", "content": [_text("alphaword"), part]}))
            if shown.ok and shown.prompt != without:
                return
        refused = {"media": {"image": {"inline": REFUSES, "url": REFUSES}}}
        self._note(
            "seen-images",
            "an image that leaves a trace in the prompt",
            Topic.FORMS,
            Verdict.DROPPED,
            facts=refused,
            tried=[],
        )
        self._losses.append(ProbeLoss("seen-images", "images"))

    def _find_tools(self) -> None:
        for trial in trials.TOOL_TRIALS:
            self._ask(trial)
            if trial.id == "tools" and self._verdicts.get("tools") is Verdict.DROPPED:
                self._find_tools_beside_system()
        if not self._declares:
            self._facts = merge(self._facts, {"tools": REFUSES})
            return
        if self._verdicts.get("tools") is Verdict.ACCEPTED:
            form, rendering = schema_form_for(self._prompts, self._forms)
            if form != self._facts["schema_form"] and not self._prompts.ended:
                renderings = [rendering] if rendering is not None else []
                self._note(
                    "schemas",
                    "rich schemas of tools",
                    Topic.TOOLS,
                    Verdict.REFUSED,
                    facts={"schema_form": form},
                    tried=renderings,
                )

    def _find_tools_beside_system(self) -> None:
        """Some templates write tools only if there is a system message too."""
        shown = self._prompts.make(
            trials.body(self._forms.system(), self._forms.user(), tools=(trials.tool("toolword"),))
        )
        if _carries(shown, ("toolword",)):
            self._losses[-1] = ProbeLoss("tools", "tools-without-system")

    def _find_calls(self, declared: Sequence[trials.Trial]) -> None:
        """The form in which calls and results are seen. If there is none they are written as text."""
        if self._prompts.ended:
            return
        renderings = self._find_call_form()
        if renderings is not None:
            refused = {"flat_tools": True}
            self._note(
                "calls",
                "calls and results in the history",
                Topic.CALLS,
                Verdict.REFUSED,
                facts=refused,
                tried=renderings,
            )
            return
        for trial in (*declared, *trials.CALL_TRIALS):
            self._ask(trial)

    def _find_call_form(self) -> list[Rendering] | None:
        """None if a form was found, else what the forms were answered with."""
        tools = (trials.LOOKUP,) if self._declares else ()
        tried: list[Rendering] = []
        for parses in (True, False):
            self._prompts.parses = parses
            forms = [replace(form, listed=self._forms.listed) for _, form in _BLANKS]
            renderings = [self._prompts.make(_history(form, tools)) for form in forms]
            words = (*trials.find_marked_words(_history(self._forms, tools)), "lookup")
            fit = [index for index, rendering in enumerate(renderings) if _carries(rendering, words)]
            tried += [rendering for index, rendering in enumerate(renderings) if index not in fit]
            if fit and _BLANKS[fit[0]][0]:
                self._forms = forms[fit[0]]
                self._note_call_form(_BLANKS[fit[0]][0] if len(fit) < len(_BLANKS) else "any", tried)
                return None
        self._prompts.parses = True
        return tried

    @property
    def _declares(self) -> bool:
        """Whether tools can be declared."""
        return self._verdicts.get("tools") is not Verdict.REFUSED

    def _note_call_form(self, name: str, tried: list[Rendering]) -> None:
        verdict = Verdict.ACCEPTED if name == "any" else Verdict.REFUSED
        asks = "any content in a turn of nothing but calls: none, null, an empty text or an empty list"
        self._note("bare-calls", asks, Topic.CALLS, verdict, facts={"call_content": name}, tried=tried)

    def _find_reasoning(self) -> None:
        for field in trials.REASONING_FIELDS:
            trial = trials.reasoning_trial(field, plain=bool(self._facts.get("flat_tools")))
            self._ask(trial)
            if self._verdicts.get(trial.id) is Verdict.REFUSED:
                self._facts["reasoning_text"] = REFUSES
            if self._verdicts.get(trial.id) is Verdict.ACCEPTED:
                self._losses = [one for one in self._losses if one.what != "reasoning"]
                break
        if "<think>" in self._source.text and "</think>" in self._source.text:
            self._facts["think_tags"] = True

    def _rehearse(self) -> tuple[str, ...]:
        rehearsal = Rehearsal(self._prompts, self._facts)
        for correction in rehearsal.correct():
            self._note(
                f"together-{correction.name}",
                f"{correction.about}, in a longer conversation",
                Topic.TURNS,
                Verdict.REFUSED,
                facts=correction.facts,
                tried=[correction.cause],
            )
        return rehearsal.unsolved

    def _ask(self, trial: trials.Trial) -> None:
        """Ask, if it means anything. A template that was ended says nothing any more."""
        if any(self._verdicts.get(name) is not Verdict.ACCEPTED for name in trial.after):
            return
        asked = trial.build(self._forms)
        if trial.topic is not Topic.TOOLS and not self._declares:
            asked.pop("tools", None)
        rendering = self._prompts.make(asked)
        if self._prompts.ended:
            return
        verdict = _verdict(rendering, trial, asked)
        facts = trial.accepted if verdict is Verdict.ACCEPTED else trial.refused
        self._note(trial.id, trial.asks, trial.topic, verdict, facts=facts, tried=[rendering])
        if verdict is Verdict.DROPPED and trial.loss and trial.loss not in self._lost:
            self._losses.append(ProbeLoss(trial.id, trial.loss))

    def _note(
        self,
        name: str,
        asks: str,
        topic: Topic,
        verdict: Verdict,
        *,
        facts: Mapping[str, Any],
        tried: Sequence[Rendering],
    ) -> None:
        """Write a verdict down, with the template's own words, and take over its facts."""
        self._verdicts[name] = verdict
        says = next((one.says for one in tried if one.says), "") if verdict is Verdict.REFUSED else ""
        self._findings.append(ProbeFinding(name, verdict, FoundBy.TEMPLATE, says))
        self._questions.append(
            Question(id=name, asks=asks, topic=topic, accepted=Outcome(facts), refused=Outcome(facts))
        )
        self._facts = merge(self._facts, facts)


def _verdict(rendering: Rendering, trial: trials.Trial, asked: trials.Body) -> Verdict:
    if rendering.prompt is None:
        return Verdict.REFUSED
    lost = any(word not in rendering.prompt for word in trials.find_marked_words(asked))
    printed = any(word in rendering.prompt for word in trial.never)
    return Verdict.DROPPED if lost or printed else Verdict.ACCEPTED


def _carries(rendering: Rendering, words: Sequence[str]) -> bool:
    return rendering.prompt is not None and all(word in rendering.prompt for word in words)


def _history(forms: trials.TemplateForms, tools: tuple[trials.Body, ...]) -> trials.Body:
    """Two rounds of calls with words between them, as any agent has them."""
    rounds = "user First; call a; result a; assistant Spoken; user; call b; result b"
    return forms.body(f"-tools; {rounds}", *tools)


def _text(words: str) -> trials.Body:
    return {"type": "text", "text": words}
