"""The command `dragoman`, also as `python -m dragoman`. Its packages come with the extra `cli`."""

from __future__ import annotations

import sys

from dragoman.extras import missing_extra


def main() -> None:
    try:
        from dragoman.cli import main as run
    except ModuleNotFoundError as error:
        if advice := missing_extra(error):
            sys.exit(f"dragoman: {advice}")
        raise
    run()


if __name__ == "__main__":
    main()
