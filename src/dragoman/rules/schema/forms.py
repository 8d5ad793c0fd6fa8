"""The schema dialects we know, by name. Evidence and reasons: docs/decisions/schema-compiler.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from .form import Nullable, Patterns, SchemaForm, Strictness, Typing

ANYTHING = SchemaForm(foreign_refs=True, checked=False)

# What is made a grammar of, as llama.cpp does, and the same without all that its compiler has failed on.
GRAMMAR = replace(ANYTHING, patterns=Patterns.REGULAR)
GRAMMAR_WORDS = replace(
    ANYTHING, refused=frozenset({"pattern", "patternProperties", "format", "minLength", "maxLength"})
)

# An object at the root and values of the right type: what any server that validates schemas asks for.
OBJECT = SchemaForm(typing=Typing.ROOT, nullable=Nullable.TYPE_LIST)

# The same for a target that reads each regular expression, but for JavaScript's own.
COMMON_OBJECT = replace(OBJECT, patterns=Patterns.COMMON)

# The same for a target that understands `nullable` too.
NULLABLE_OBJECT = replace(OBJECT, nullable=Nullable.ANY)

OPENAI = SchemaForm(
    typing=Typing.ROOT,
    root_unions=False,
    root_refused=frozenset({"enum", "not", "const"}),
    root_properties=True,
    array_items="any",
    patterns=Patterns.FORWARD,
)

OPENAI_STRICT = replace(
    OPENAI,
    typing=Typing.ALWAYS,
    nullable=Nullable.TYPE_LIST,
    strict=Strictness.ALL,
    unions=frozenset({"anyOf"}),
    ref_siblings=False,
    boolean_schemas=False,
    required_exist=True,
    formats=(
        (
            "string",
            frozenset(
                {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
            ),
        ),
    ),
    refused=frozenset(
        {
            *("not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
            *("dependencies", "patternProperties", "propertyNames", "unevaluatedProperties"),
            *("unevaluatedItems", "minProperties", "maxProperties", "contains"),
            *("minContains", "maxContains", "uniqueItems", "prefixItems", "propertyOrdering"),
        }
    ),
)

# What Groq and Cerebras compile: as OpenAI, without the length of a list, and for Cerebras without lists of types.
GROQ_STRICT = replace(OPENAI_STRICT, refused=OPENAI_STRICT.refused | {"minItems", "maxItems"})
CEREBRAS_STRICT = replace(GROQ_STRICT, nullable=Nullable.UNION, type_lists=False)

ANTHROPIC = SchemaForm(
    typing=Typing.ROOT,
    root_unions=False,
    nullable=Nullable.TYPE_LIST,
    property_names=r"^[a-zA-Z0-9_.-]{1,64}$",
)

ANTHROPIC_STRICT = replace(
    ANTHROPIC,
    strict=Strictness.CLOSED,
    unions=frozenset({"anyOf", "allOf"}),
    recursion=False,
    boolean_schemas=False,
    patterns=Patterns.REGULAR,
    most_min_items=1,
    refused=frozenset(
        {
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"),
            *("minProperties", "maxProperties", "propertyNames", "patternProperties", "unevaluatedProperties"),
            *("dependentRequired", "dependentSchemas", "dependencies", "not", "if", "then", "else"),
        }
    ),
)

# The same where objects are closed for the client: behind a router.
ANTHROPIC_ANSWER = replace(
    ANYTHING,
    refused=ANTHROPIC_STRICT.refused,
    most_min_items=ANTHROPIC_STRICT.most_min_items,
    patterns=ANTHROPIC_STRICT.patterns,
)

ANTHROPIC_COMPATIBLE = replace(
    ANTHROPIC,
    patterns=Patterns.COMMON,
    refused=frozenset({"default", "examples", "additionalProperties"}),
    empty_required=False,
    required_exist=True,
)

GEMINI_JSON = SchemaForm(typing=Typing.ROOT, nullable=Nullable.TYPE_LIST, required_exist=True)

# An answer may be a list or a word, and its schema a mere reference (recorded).
GEMINI_ANSWER = SchemaForm(nullable=Nullable.TYPE_LIST)

GEMINI_PROTO = SchemaForm(
    keywords=frozenset(
        {
            *("type", "format", "title", "description", "nullable", "default", "items", "minItems"),
            *("maxItems", "enum", "properties", "propertyOrdering", "required", "minProperties"),
            *("maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "example", "anyOf"),
        }
    ),
    refs=False,
    recursion=False,
    unions=frozenset({"anyOf"}),
    root_unions=False,
    union_alone=True,
    typing=Typing.ALWAYS,
    type_lists=False,
    const=False,
    nullable=Nullable.KEYWORD,
    string_enums=True,
    formats=(
        ("string", frozenset({"enum", "date-time"})),
        ("number", frozenset({"float", "double"})),
        ("integer", frozenset({"int32", "int64"})),
    ),
    array_items="string",
    boolean_schemas=False,
    required_exist=True,
    upper_types=True,
)

_KNOWN = (GEMINI_PROTO.keywords or frozenset()) | {"additionalProperties"}


def _in_own_language(form: SchemaForm) -> SchemaForm:
    """What a schema in Gemini's own language means. Its faults are keywords that this language does not have, an array
    without items, enums of other values than strings with a letter in them, and lists of types other than those by
    which a nullable type is read."""
    return replace(
        form,
        keywords=_KNOWN,
        refs=False,
        recursion=False,
        const=False,
        array_items="string",
        string_enums=True,
        type_lists=False,
        null_lists=True,
    )


GEMINI_MEANT, GEMINI_MEANT_ANSWER = _in_own_language(GEMINI_JSON), _in_own_language(GEMINI_ANSWER)

GEMINI_STUDIO = replace(GEMINI_MEANT, keywords=_KNOWN - {"additionalProperties"}, union_alone=True)
GEMINI_STUDIO_ANSWER = replace(GEMINI_MEANT_ANSWER, keywords=_KNOWN - {"additionalProperties"})
"""The same if the language does not have `additionalProperties`."""

GEMINI_VERTEX = replace(GEMINI_MEANT, union_alone=True, union_bare=True, typing=Typing.ALWAYS)
"""The same if it has no keyword beside `anyOf`, and wants a type everywhere else."""

MINIMAL = SchemaForm(
    keywords=frozenset({"type", "description", "properties", "required", "items", "enum"}),
    refs=False,
    recursion=False,
    unions=frozenset(),
    root_unions=False,
    typing=Typing.ALWAYS,
    type_lists=False,
    const=False,
    nullable=Nullable.WORDS,
    formats=(),
    array_items="string",
    boolean_schemas=False,
    property_names=r"^[a-zA-Z0-9_.-]{1,64}$",
    required_exist=True,
    empty_required=False,
    root_properties=True,
)

# What a chat template needs that writes each property as code: it reads these of every schema, or fails.
DOCUMENTED = replace(MINIMAL, keywords=(MINIMAL.keywords or frozenset()) | {"additionalProperties"}, documented=True)

# For an answer, by Cohere's documentation of structured outputs.
COHERE_ANSWER = replace(
    OBJECT,
    typing=Typing.ALWAYS,
    root_unions=False,
    unions=frozenset(),
    boolean_schemas=False,
    required_exist=True,
    empty_required=False,
    some_required=True,
    formats=(("string", frozenset({"date-time", "date", "time", "uuid"})),),
    refused=frozenset(
        {
            *("not", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("minItems", "maxItems", "uniqueItems", "minLength", "maxLength"),
        }
    ),
)

# What the server's own types keep of a tool's schema. Everything else is dropped before the model sees it.
OLLAMA = SchemaForm(
    keywords=frozenset({"type", "description", "properties", "required", "items", "enum", "anyOf"}),
    refs=False,
    recursion=False,
    unions=frozenset({"anyOf"}),
    root_unions=False,
    typing=Typing.ROOT,
    const=False,
    nullable=Nullable.TYPE_LIST,
    formats=(),
    boolean_schemas=False,
)

# "Moonshot flavored JSON schema": its specification, and what its validator is reported to refuse.
MOONSHOT = replace(
    OBJECT,
    typing=Typing.ALWAYS,
    unions=frozenset({"anyOf"}),
    root_unions=False,
    union_untyped=True,
    typed_enums=True,
    ref_siblings=False,
    defs_alone=True,
    boolean_schemas=False,
    required_exist=True,
)

FORMS: Mapping[str, SchemaForm] = MappingProxyType(
    {
        "json-schema": ANYTHING,
        "object": OBJECT,
        "common-object": COMMON_OBJECT,
        "grammar": GRAMMAR,
        "grammar-words": GRAMMAR_WORDS,
        "nullable-object": NULLABLE_OBJECT,
        "openai": OPENAI,
        "openai-strict": OPENAI_STRICT,
        "anthropic": ANTHROPIC,
        "anthropic-strict": ANTHROPIC_STRICT,
        "anthropic-answer": ANTHROPIC_ANSWER,
        "anthropic-compatible": ANTHROPIC_COMPATIBLE,
        "gemini-json": GEMINI_JSON,
        "gemini-answer": GEMINI_ANSWER,
        "gemini-proto": GEMINI_PROTO,
        "gemini-meant": GEMINI_MEANT,
        "gemini-meant-answer": GEMINI_MEANT_ANSWER,
        "gemini-vertex": GEMINI_VERTEX,
        "gemini-studio": GEMINI_STUDIO,
        "gemini-studio-answer": GEMINI_STUDIO_ANSWER,
        "groq": replace(OBJECT, required_exist=True),
        "groq-strict": GROQ_STRICT,
        "groq-answer": ANYTHING,
        "groq-answer-strict": GROQ_STRICT,
        "cerebras": NULLABLE_OBJECT,
        "cerebras-strict": CEREBRAS_STRICT,
        "cerebras-answer": ANYTHING,
        "cerebras-answer-strict": CEREBRAS_STRICT,
        "mistral": OBJECT,
        "bedrock": OBJECT,
        "moonshot": MOONSHOT,
        "ollama": OLLAMA,
        "minimal": MINIMAL,
        "documented": DOCUMENTED,
        "cohere-answer": COHERE_ANSWER,
    }
)
