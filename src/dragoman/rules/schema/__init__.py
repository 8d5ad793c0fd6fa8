"""The schema compiler: any JSON Schema, in the dialect a target reads.

    compiled = compile_schema(schema, FORMS["gemini-proto"])
    compiled.json    # what to send; the caller's own bytes when nothing had to change
    compiled.notes   # what was done, where, and what it costs

`SchemaForm` describes a dialect as data, `FORMS` has the known ones.
"""

from .arguments import rename_arguments
from .compiled import Compiled, Loses, SchemaNote
from .compiler import compile_schema
from .form import Nullable, SchemaForm, Strictness, Typing
from .forms import FORMS

__all__ = [
    "FORMS",
    "Compiled",
    "Loses",
    "Nullable",
    "SchemaForm",
    "SchemaNote",
    "Strictness",
    "Typing",
    "compile_schema",
    "rename_arguments",
]
