"""Requests that do not fit their dialect's schema but whose meaning is clear.

Each dialect has a strict decoder of its schema, in its own module `near_misses`. Only what that refuses is looked at
here: a part, a turn, a tool or a setting in any dialect's form is read and written again in the form of the client's
own dialect, and then parsed like any other. Every difference is noted as a `NearMiss`.
"""
