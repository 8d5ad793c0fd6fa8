"""Profiles: what is known of a provider and its models, in layers.

Layers: dialect, provider, models (every glob that matches, in file order), plugins, the user's file, the request.
Tables merge; values and lists replace.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.errors import ProfileError, TargetError, near_match
from dragoman.profiles.data_files import DATA
from dragoman.profiles.facts import Facts
from dragoman.profiles.families import families_of, family_names
from dragoman.profiles.mistakes import Mistake, RuleCheck, fact_mistakes, key_mistakes, rule_mistakes
from dragoman.profiles.models import CatalogueUse, facts_from, find_model
from dragoman.profiles.toml_lines import KeyPath, key_lines, line_at


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a fact comes from."""

    fact: str
    seen: datetime.date
    kind: str = ""
    """What kind of source it is."""
    says: str = ""
    """The provider's own sentence."""
    about: str = ""
    """The field or value that the sentence names, if the fact holds for others too."""
    source: str = ""
    model: str = ""
    """The model that it was seen on."""


class Models(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of the models whose name matches one of the globs."""

    match: str | tuple[str, ...]
    facts: dict[str, Any] = {}
    rules: dict[str, Any] = {}

    @property
    def globs(self) -> tuple[str, ...]:
        return (self.match,) if isinstance(self.match, str) else self.match

    def fits(self, model: str) -> bool:
        return any(fnmatchcase(model.lower(), glob.lower()) for glob in self.globs)


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the provider wants its key."""

    env: str | tuple[str, ...] = ()
    """Environment variables that may hold it."""
    header: str = "authorization"
    """The header that carries it."""
    scheme: str = "Bearer"
    """The word before it; empty: none."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.env,) if isinstance(self.env, str) else self.env


class CloudUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a cloud is asked."""

    scheme: str = ""
    """Authorizes requests that have no key (`upstream/auth`)."""
    service: str = ""
    """The name of the cloud's service there."""
    region: str = ""
    """Fills `{region}` in the address, by default or from the environment."""
    region_env: tuple[str, ...] = ()
    project_env: tuple[str, ...] = ()
    regions: dict[str, str] = {}
    """The addresses of regions for those who name a project; `*` is that of all others."""
    paths: tuple[str, ...] = ()
    """Used instead of the profile's path: the first whose `{project}`, `{region}` and `{api_version}` are all known."""


class BodyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Members of the dialect's body that the provider does not take, and additional ones that it wants."""

    leave_out: tuple[str, ...] = ()
    add: dict[str, Any] = {}


class BetaUse(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """What a provider takes only from those who name a beta in a header. A beta's name ends with its date. Of two dates
    of one beta the tool's is meant."""

    of: str = ""
    """The profile whose table holds here too."""
    header: str = ""
    fields: dict[str, str] = {}
    """The betas of top-level fields. `field:text`: of a field that holds this text, such as the name of a member."""
    tools: dict[str, str] = {}
    """The betas of kinds of the provider's own tools."""
    cache_scope: str = ""
    """The beta of a `scope` in cache hints."""
    names: dict[str, str] = {}
    """What betas are called here that are called otherwise elsewhere."""

    @cached_property
    def marks(self) -> dict[str, tuple[tuple[bytes, str], ...]]:
        """By field: texts that it may hold, as its JSON has them, with their betas; without a text, the field's own."""
        found: dict[str, tuple[tuple[bytes, str], ...]] = {}
        for key, name in self.fields.items():
            field, colon, text = key.partition(":")
            found[field] = (*found.get(field, ()), (f'"{text}"'.encode() if colon else b"", name))
        return found

    @cached_property
    def read_fields(self) -> tuple[str, ...]:
        """Fields of the dialect of which single members need a beta."""
        return tuple([field for field, marks in self.marks.items() if all(mark for mark, _ in marks)])


class VersionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for requests of a newer version of an API."""

    header: str
    """The header in which a client of the same dialect names its version."""
    since: str
    """The first version for which this holds, a date."""
    facts: dict[str, Any]


class Methods(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names that fill `{method}` in the path, for whole answers and for streams."""

    whole: str = ""
    stream: str = ""


class StreamWrapping(StrEnum):
    """What a cloud puts around the events of a model's own stream."""

    NONE = "none"
    AWS_CHUNKS = "aws-chunks"


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a cloud wants around requests and streams of a vendor's own dialect."""

    headers: dict[str, str] = {}
    """Headers that become members of the body, as lists of words."""
    stream: StreamWrapping = StreamWrapping.NONE
    """What stands around the events of a stream."""


NO_ENVELOPE = Envelope()


class CountQuestion(StrEnum):
    """How a request is put into a question for its tokens."""

    OWN = "own"
    BARE = "bare"
    NAMED = "named"
    AWS_INVOKE = "aws-invoke"


class CountForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How tokens are counted, if not as the dialect says."""

    model: str = ""
    """Fills the profile's path."""
    method: str = ""
    """Fills the profile's path."""
    question: CountQuestion = CountQuestion.OWN
    """The request itself (`bare`), the dialect's question with the model's name (`named`), or the request inside one of
    AWS (`aws-invoke`)."""
    figure: str = ""
    """The member of the answer that holds the count."""


AS_DIALECT = CountForm()


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    dialect: str = ""
    title: str = ""
    url: str = ""
    url_env: str = ""
    key: Key = Key()
    cloud: CloudUse = CloudUse()
    """How a cloud authorizes requests."""
    path: str = ""
    """Replaces the dialect's own path. `{model}` and `{method}` are filled in."""
    methods: Methods = Methods()
    """How it is asked otherwise than its dialect says."""
    body: BodyForm | None = None
    """What its body has otherwise than its dialect says."""
    beta: BetaUse | None = None
    """What it takes under a beta alone."""
    envelope: Envelope = NO_ENVELOPE
    count: CountForm = AS_DIALECT
    """How it counts tokens."""
    twin: str = ""
    """The profile of the provider's other API, for requests that this one refuses."""
    siblings: tuple[str, ...] = ()
    """The profiles of the provider's APIs for other makers' models, whose families are served there alone."""
    versions: tuple[VersionFacts, ...] = ()
    """What newer versions of its API refuse, for clients that name one."""
    like: str = ""
    """Another profile, whose facts come first."""
    hosts: tuple[str, ...] = ()
    """Globs of further hosts from which the vendor serves the same API."""
    families: tuple[str, ...] = ()
    """The entries of `families.toml` whose bare names it serves."""
    lists_models: bool = True
    """It has a list of what can be asked for."""
    completions: tuple[str, ...] = ()
    """Globs of models that it serves at the legacy `/completions` too."""
    headers: dict[str, str] = {}
    """Headers of every request. A header without a value is not sent."""
    facts: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    texts: dict[str, str] = {}
    catalogue: CatalogueUse = CatalogueUse()
    """What it takes from the catalogue of models."""
    probed: bool = False
    models: tuple[Models, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    name: str = ""


INHERITED = (
    *("dialect", "title", "url", "url_env", "key", "cloud", "path", "methods"),
    *("body", "envelope", "count", "twin", "families", "lists_models", "completions"),
)


class Layer(msgspec.Struct, frozen=True):
    """Some facts and where they were said."""

    origin: str
    facts: Mapping[str, Any]
    rules: Mapping[str, Any] = {}
    texts: Mapping[str, str] = {}


class Target(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """A profile and a model, with the facts that hold for them. Known by identity, so that plans can be remembered."""

    profile: Profile
    model: str
    facts: Facts
    choices: Mapping[str, Any] = {}
    """The option chosen for a rule, by its name."""
    texts: Mapping[str, str] = {}
    """Configured words of synthetic turns, by reason."""
    twin: Target | None = None
    """The same model in the provider's other API, for tools that this one refuses or lacks."""
    versions: tuple[Target, ...] = ()
    """The target for each entry in the profile's `versions`."""

    @property
    def name(self) -> str:
        return f"{self.profile.name}/{self.model}"

    @property
    def dialect(self) -> str:
        return self.profile.dialect


class Profiles:
    """All profiles by name: the built-in ones, and the user's on top."""

    def __init__(self, extra: Mapping[str, Profile] | None = None, layers: Iterable[Layer] = ()) -> None:
        self._extra = dict(extra or {})
        self._layers = tuple(layers)
        self._targets: dict[tuple[str, str], Target] = {}

    def extended(self, extra: Mapping[str, Profile]) -> Profiles:
        """These profiles and more, which win over those of the same name."""
        return Profiles({**self._extra, **extra}, self._layers) if extra else self

    def names(self) -> list[str]:
        return sorted({*builtin_names(), *self._extra})

    def profile(self, name: str) -> Profile:
        """A profile by name. A user's takes over the address and key of the one that it is like; a built-in one states
        its own, so that nobody's key goes to another's address."""
        if name in self._extra:
            found = self._extra[name]
            if not found.like:
                return found
            parent = self._parent(found)
            return inherit(found, parent if parent.name == name else self.profile(parent.name))
        if name in builtin_names():
            found = builtin(name)
            if found.beta is not None and found.beta.of:
                found = replace(found, beta=_join_betas(found.beta, builtin(found.beta.of).beta))
            return found if found.dialect else inherit(found, self._parent(found), ("dialect",))
        raise TargetError(
            f'no profile is called "{name}". {near_match(name, self.names())}', hint="see `dragoman profiles`"
        )

    def target(self, text: str) -> Target:
        """`PROFILE/MODEL` → the target. The model may hold slashes of its own."""
        name, slash, model = text.partition("/")
        if not slash or not model:
            raise TargetError(f'"{text}" is not a target', hint=_hint_at_target(text))
        key = (name, model)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._resolve(self.profile(name), model)
            if len(self._targets) > 4096:
                self._targets.clear()
        return found

    def layers(self, profile: Profile, model: str) -> list[Layer]:
        """Every layer that speaks about a model of this profile, the weakest first."""
        found = [dialect_layer(profile.dialect)]
        for source in self._lineage(profile):
            found.append(Layer(source.name, source.facts, source.rules, source.texts))
            known = find_model(model)
            if known is not None:
                found.append(Layer(f"catalogue {known.name}", facts_from(known, source.catalogue)))
            found += [
                Layer(f"{source.name} {', '.join(models.globs)}", models.facts, models.rules)
                for models in source.models
                if models.fits(model)
            ]
        return [*found, *self._layers]

    def _lineage(self, profile: Profile, seen: tuple[str, ...] = ()) -> list[Profile]:
        """The profile after the one it is like, so that it can correct it."""
        if not profile.like:
            return [profile]
        if profile.like in seen:
            raise ProfileError(f"is like itself: {' → '.join((*seen, profile.like))}", at=profile.name)
        return [*self._lineage(self._parent(profile), (*seen, profile.like)), profile]

    def _parent(self, profile: Profile) -> Profile:
        """The profile that this one is like. A correction of a built-in one has its name."""
        if profile.like in self._extra and profile.like != profile.name:
            return self._extra[profile.like]
        if profile.like in builtin_names():
            return builtin(profile.like)
        raise ProfileError(f'like is "{profile.like}". {near_match(profile.like, self.names())}', at=profile.name)

    def _resolve(self, profile: Profile, model: str) -> Target:
        if (fault := sibling_fault(profile.name, model)) is not None:
            raise fault
        issuer = self._lineage(profile)[0].name if profile.name in self._extra else profile.name
        layers = self.layers(profile, model)
        facts = facts_of(profile, model, layers, issuer)
        twin = self.target(f"{profile.twin}/{model}") if profile.twin else None
        found = Target(profile, model, facts, _choices(layers), _texts(layers), twin)
        newer = [patch_target(found, Layer(f"version {one.since}", one.facts)) for one in profile.versions]
        return replace(found, versions=tuple(newer)) if newer else found


def sibling_fault(name: str, model: str) -> TargetError | None:
    """Why a built-in profile does not serve a model: its provider does that by another API alone. None if it does."""
    profile = builtin(name) if name in builtin_names() else _BLANK
    for sibling in map(builtin, profile.siblings):
        served = {*sibling.families} - {*profile.families}
        if any(family.name in served for family in families_of(model)):
            wrong = f"{profile.title} does not serve {model}; {sibling.title} does"
            return TargetError(wrong, hint=f"write {sibling.name}/{model}")
    return None


def _hint_at_target(text: str) -> str:
    """What to write for a bare name: its vendor's profile, if the family of the name is known."""
    families = families_of(text) if "/" not in text else ()
    maker = next((family.default for family in families if family.default), "")
    return f"write {maker}/{text}" if maker else "write PROFILE/MODEL, as in anthropic/claude-sonnet-4-6"


def inherit(profile: Profile, parent: Profile, fields: tuple[str, ...] = INHERITED) -> Profile:
    """What the parent says, if the profile says nothing of its own."""
    taken = {field: getattr(parent, field) for field in fields if getattr(profile, field) == getattr(_BLANK, field)}
    return replace(profile, headers={**parent.headers, **profile.headers}, **taken)


def _join_betas(own: BetaUse, other: BetaUse | None) -> BetaUse | None:
    """The table of another profile, with the names of this one."""
    return other if other is None else replace(other, names=own.names)


_BLANK = Profile()


def facts_of(profile: Profile, model: str, layers: Iterable[Layer], issuer: str = "") -> Facts:
    """All layers as one value, checked. `issuer`: who makes its opaque state, unless a layer says otherwise."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = merge(merged, layer.facts)
    merged |= {"dialect": profile.dialect, "model": model}
    merged.setdefault("provider", issuer or profile.name)
    return check_facts(merged, profile.name)


def _choices(layers: Iterable[Layer]) -> dict[str, Any]:
    return {rule: choice for layer in layers for rule, choice in layer.rules.items()}


def _texts(layers: Iterable[Layer]) -> dict[str, str]:
    return {reason: text for layer in layers for reason, text in layer.texts.items()}


def check_facts(facts: Mapping[str, Any], origin: str) -> Facts:
    try:
        return msgspec.convert(facts, Facts)
    except msgspec.ValidationError as fault:
        raise ProfileError(f"{fault}", at=origin, hint=f"known facts: {', '.join(Facts.__struct_fields__)}") from None


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merge, values and lists replace."""
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        merged[key] = merge(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged


def patch_target(target: Target, layer: Layer) -> Target:
    """The target with some facts corrected, and the layer's own choices and texts."""
    merged = merge(msgspec.to_builtins(target.facts, str_keys=True), layer.facts)
    return Target(
        target.profile,
        target.model,
        check_facts(merged, layer.origin),
        choices={**target.choices, **layer.rules},
        texts={**target.texts, **layer.texts},
        twin=patch_target(target.twin, _for_twin(layer)) if target.twin is not None else None,
        versions=tuple([patch_target(one, layer) for one in target.versions]),
    )


def _for_twin(layer: Layer) -> Layer:
    """What a layer says about the other API: not what this one refuses and the other is asked for."""
    facts = {name: value for name, value in layer.facts.items() if name not in ("tools_with_effort", "served_here")}
    return replace(layer, facts=facts) if len(facts) < len(layer.facts) else layer


@lru_cache(maxsize=1)
def builtin_names() -> frozenset[str]:
    return frozenset(file.stem for file in DATA.glob("*.toml"))


@lru_cache(maxsize=64)
def builtin(name: str) -> Profile:
    return read_profile(name, (DATA / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


@lru_cache(maxsize=8)
def dialect_layer(dialect: str) -> Layer:
    table = tomllib.loads((DATA / "dialects" / f"{dialect}.toml").read_text("utf-8"))
    return Layer(f"dialect {dialect}", table.get("facts", {}), table.get("rules", {}), table.get("texts", {}))


def read_profile(name: str, text: str, file: str) -> Profile:
    """A profile from the text of its file. Raises ProfileError with file and key."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise ProfileError(str(fault), at=file) from None
    return make_profile(name, table, file)


def make_profile(name: str, table: Mapping[str, Any], file: str) -> Profile:
    try:
        profile = msgspec.convert({**table, "name": name}, Profile)
    except msgspec.ValidationError as fault:
        raise ProfileError(str(fault), at=file, hint="see the guide on profiles") from None
    for family in profile.families:
        if family not in family_names():
            raise ProfileError(f'families has "{family}". {near_match(family, family_names())}', at=file)
    if profile.like and not profile.dialect:
        return profile
    if profile.dialect not in DIALECT_NAMES:
        raise ProfileError(f'dialect is "{profile.dialect}". {near_match(profile.dialect, DIALECT_NAMES)}', at=file)
    return profile


def read_profiles_file(path: Path, check_rule: RuleCheck | None = None) -> dict[str, Profile]:
    """The user's profiles: one TOML file whose tables are named after them, or one profile named after its file.

    A table whose name is a built-in profile's corrects that one (it is `like` it). Raises ProfileError with all
    mistakes of the file, each with its line. `check_rule` says what is wrong with the choice of a rule.
    """
    try:
        text = path.read_text("utf-8")
        table = tomllib.loads(text)
    except OSError as fault:
        raise ProfileError(f"cannot be read: {fault.strerror}", at=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ProfileError(str(fault), at=str(path)) from None
    lines = key_lines(text)
    single = isinstance(table.get("dialect") or table.get("like"), str)
    table = {path.stem: table} if single else table
    mistakes = [
        f"{path}:{line_at(lines, at[1:] if single else at)}: {message}"
        for at, message in _mistakes(table, check_rule or _any_choice)
    ]
    if mistakes:
        raise ProfileError("\n".join(mistakes), problems=tuple(mistakes))
    return {name: _make_own_profile(name, content, f"{path}: {name}") for name, content in table.items()}


def _make_own_profile(name: str, content: Mapping[str, Any], file: str) -> Profile:
    if name in builtin_names() and "like" not in content and "dialect" not in content:
        content = {"like": name, **content}
    return make_profile(name, content, file)


def _any_choice(rule: str, choice: Any) -> str | None:
    return None


def _mistakes(table: Mapping[str, Any], check_rule: RuleCheck) -> Iterator[Mistake]:
    for name, content in table.items():
        if not isinstance(content, dict):
            yield (name,), f'"{name}" is not a table; write [NAME] and its facts below it'
            continue
        yield from _find_mistakes(content, Profile, (name,), check_rule)
        for kind, key in ((Models, "models"), (Evidence, "evidence")):
            for index, item in enumerate(_tables(content.get(key))):
                yield from _find_mistakes(item, kind, (name, key, index), check_rule)


def _find_mistakes(
    content: Mapping[str, Any], kind: type[msgspec.Struct], path: KeyPath, check_rule: RuleCheck
) -> Iterator[Mistake]:
    yield from key_mistakes(content, kind, path)
    yield from fact_mistakes(content.get("facts"), (*path, "facts"))
    yield from rule_mistakes(content.get("rules"), (*path, "rules"), check_rule)


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
