"""Providers on your own machine that refuse what the real ones refuse.

They share no code with dialects, rules or profiles: a judge that shares code with the accused agrees with it.
"""
