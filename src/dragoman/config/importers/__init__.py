"""Translate the configurations of other gateways.

Each importer takes parsed files and returns a configuration and notes. The notes name every setting that has no
counterpart, so nothing is dropped silently.
"""
