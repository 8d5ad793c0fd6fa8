"""A schema dialect, as data: which part of JSON Schema a target reads.

No provider is named here and no code asks for one: a form says what is understood, the compiler makes a schema fit.
Every default is the most lenient answer, so `SchemaForm()` accepts anything.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Typing(StrEnum):
    """Where `type` has to stand."""

    FREE = "free"
    ROOT = "root"  # the root must say `type: object`
    ALWAYS = "always"  # every node must, unless it is a union or a reference


class Nullable(StrEnum):
    """How a value that may be null is written."""

    ANY = "any"  # as the author wrote it
    TYPE_LIST = "type-list"  # {"type": ["string", "null"]}
    UNION = "union"  # {"anyOf": [{"type": "string"}, {"type": "null"}]}
    KEYWORD = "keyword"  # {"type": "string", "nullable": true}
    WORDS = "words"  # not at all: the description says so


class Strictness(StrEnum):
    """What the target demands of objects when it promises to obey the schema."""

    OFF = "off"
    CLOSED = "closed"  # additionalProperties: false on every object
    ALL = "all"  # closed, and every property required


class Patterns(StrEnum):
    """Which regular expressions are read."""

    ANY = "any"
    COMMON = "common"  # none with escapes and groups of JavaScript's alone, such as classes of Unicode
    FORWARD = "forward"  # nor one that looks ahead or behind
    REGULAR = "regular"  # none that looks around, refers back, or names the edge of a word


ALL_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})

Formats = tuple[tuple[str, frozenset[str]], ...]


class SchemaForm(msgspec.Struct, frozen=True, cache_hash=True, kw_only=True):
    """What a target understands of JSON Schema."""

    keywords: frozenset[str] | None = None
    """The only ones that it knows. None: it ignores unknown ones, so all may stay."""
    refused: frozenset[str] = frozenset()
    """Keywords that are refused wherever they stand."""
    root_refused: frozenset[str] = frozenset()
    """Keywords that are refused at the root alone."""
    refs: bool = True
    """`$ref` with `$defs` or `definitions` is read."""
    ref_siblings: bool = True
    """Other keywords may stand beside `$ref`."""
    defs_alone: bool = False
    """References lead to the root or into its `$defs`."""
    foreign_refs: bool = False
    """References may lead outside the schema, or nowhere."""
    recursion: bool = True
    """A definition may reach itself."""
    unions: frozenset[str] = ALL_UNIONS
    """Which of anyOf, oneOf and allOf are read."""
    root_unions: bool = True
    """They may stand at the root."""
    union_alone: bool = False
    """Beside anyOf only description and nullable may stand."""
    union_bare: bool = False
    """Not even these may."""
    union_untyped: bool = False
    """Beside anyOf no type may stand."""
    typing: Typing = Typing.FREE
    """Where `type` has to stand."""
    type_lists: bool = True
    """`type: ["string", "null"]` is read."""
    null_lists: bool = False
    """Lists of one type and null may stay, if others are not read."""
    const: bool = True
    """It is read. If not, a list of one value stands for it."""
    nullable: Nullable = Nullable.ANY
    """How "or null" is written."""
    string_enums: bool = False
    """An enum lists non-empty strings only."""
    typed_enums: bool = False
    """An enum lists values of the type beside it only."""
    patterns: Patterns = Patterns.ANY
    """Which regular expressions may stand in `pattern`, and as the names of `patternProperties`."""
    formats: Formats | None = None
    """For each type, the formats that are read. None: all are."""
    most_min_items: int | None = None
    """The greatest `minItems` that is read. None: any."""
    array_items: str | None = None
    """The items that an array gets if it has none. None: it needs none."""
    boolean_schemas: bool = True
    """`true` and `false` may take the place of a schema."""
    property_names: str | None = None
    """A pattern that property names must match."""
    required_exist: bool = False
    """`required` names declared properties only."""
    empty_required: bool = True
    """`required: []` is fine."""
    some_required: bool = False
    """An object with properties requires at least one of them."""
    root_properties: bool = False
    """The root must have `properties`."""
    documented: bool = False
    """Every property must have a description, and an inner object the schema of further properties."""
    strict: Strictness = Strictness.OFF
    """What strict mode demands."""
    checked: bool = True
    """Keywords must have values of the right type."""
    upper_types: bool = False
    """Type names may be written STRING, OBJECT."""

    def knows(self, keyword: str) -> bool:
        """Whether the keyword may be sent at all."""
        return keyword not in self.refused and (self.keywords is None or keyword in self.keywords)

    def reads_format(self, kinds: tuple[str, ...], name: str) -> bool:
        """Whether a format may stand beside one of these types."""
        if self.formats is None:
            return True
        known = dict(self.formats)
        return any(name in known.get(kind, frozenset()) for kind in kinds or ("string",))
