"""How commands print: tables, differences, progress."""
