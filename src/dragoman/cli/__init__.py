"""The `dragoman` command."""


def main() -> None:
    raise SystemExit(2)
