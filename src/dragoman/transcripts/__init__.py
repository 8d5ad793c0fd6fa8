"""Conversations that agents and frameworks have written to files, read as the requests that they were.

Each format has a module: how a file is recognised by its content, and how it becomes requests of a dialect.
`catalogue.py` lists the formats. All of it is pure: bytes come in as decoded JSON, requests go out.

A transcript is read as the last request that its agent sent. The answer at its end is left out, since nobody sends an
answer. Agents do not record which tools they declared: every tool that was called is declared, with an open schema.
"""
