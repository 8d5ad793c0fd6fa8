"""Emulated providers that refuse what the real ones refuse, in the same words.

They share no code with dialects, rules or profiles: an emulator that shared code with the compiler would share its
mistakes and accept them.
"""
