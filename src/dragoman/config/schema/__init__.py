"""The types of the configuration file, one module per section.

Every key of `dragoman.yaml` is a field here, and its `Meta` is the only place that describes it. The reference, the
JSON Schema for editors and the example of `dragoman init` are generated from it.

These modules do without `from __future__ import annotations`: the types are read on every start, and reading them from
texts takes four times as long.
"""
