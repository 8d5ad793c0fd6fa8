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
    KEYWORD = "keyword"  # {"type": "string", "nullable": true}
    WORDS = "words"  # not at all: the description says so


class Strictness(StrEnum):
    """What the target demands of objects when it promises to obey the schema."""

    OFF = "off"
    CLOSED = "closed"  # additionalProperties: false on every object
    ALL = "all"  # closed, and every property required


ALL_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})

Formats = tuple[tuple[str, frozenset[str]], ...]


class SchemaForm(msgspec.Struct, frozen=True, cache_hash=True, kw_only=True):
    """What a target understands of JSON Schema.

    keywords           the only ones it knows; None means that unknown ones are ignored by it, so all may stay
    refused            known to be refused wherever they stand
    root_refused       refused at the root alone
    refs               `$ref` with `$defs` or `definitions`
    ref_siblings       other keywords beside `$ref`
    foreign_refs       references that lead outside the schema, or nowhere
    recursion          a definition may reach itself
    unions             which of anyOf, oneOf, allOf are read
    root_unions        and whether they may stand at the root
    union_alone        beside anyOf only description and nullable may stand
    typing             where `type` has to stand
    type_lists         `type: ["string", "null"]`
    null_lists         lists of one type and null may stay where others are not read
    const              else a list of one value
    nullable           how "or null" is written
    string_enums       enum lists non-empty strings only
    formats            per type, the formats that are read; None means all
    array_items        the items an array gets that has none; None means that it needs none
    boolean_schemas    `true` and `false` in the place of a schema
    property_names     a pattern that property names must match
    required_exist     `required` names declared properties only
    empty_required     `required: []` is fine
    some_required      an object with properties requires at least one of them
    root_properties    the root must have `properties`
    documented         every property must have a description, and an inner object the schema of further properties
    strict             what strict mode demands
    checked            keywords must have values of the right type
    upper_types        type names may be written STRING, OBJECT
    """

    keywords: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()
    root_refused: frozenset[str] = frozenset()
    refs: bool = True
    ref_siblings: bool = True
    foreign_refs: bool = False
    recursion: bool = True
    unions: frozenset[str] = ALL_UNIONS
    root_unions: bool = True
    union_alone: bool = False
    typing: Typing = Typing.FREE
    type_lists: bool = True
    null_lists: bool = False
    const: bool = True
    nullable: Nullable = Nullable.ANY
    string_enums: bool = False
    formats: Formats | None = None
    array_items: str | None = None
    boolean_schemas: bool = True
    property_names: str | None = None
    required_exist: bool = False
    empty_required: bool = True
    some_required: bool = False
    root_properties: bool = False
    documented: bool = False
    strict: Strictness = Strictness.OFF
    checked: bool = True
    upper_types: bool = False

    def knows(self, keyword: str) -> bool:
        """Whether the keyword may be sent at all."""
        return keyword not in self.refused and (self.keywords is None or keyword in self.keywords)

    def reads_format(self, kinds: tuple[str, ...], name: str) -> bool:
        """Whether a format may stand beside one of these types."""
        if self.formats is None:
            return True
        known = dict(self.formats)
        return any(name in known.get(kind, frozenset()) for kind in kinds or ("string",))
