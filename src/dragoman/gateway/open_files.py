"""Open files: every request under way needs two, one for its client and one for its provider."""

from __future__ import annotations

ASIDE = 128
"""Files that are none of a request's: logs, the ledger, the listening socket, idle connections."""
_ENOUGH = 65_536
"""What is asked for where the system sets no limit of its own."""


def raise_limit() -> int:
    """Take as many as the system lets us have; what there are now, or 0 where nobody can say.

    A shell's usual 1,024 would do for fewer than 500 streams, and the limit behind it is far higher.
    """
    try:
        import resource
    except ImportError:  # no such thing on Windows
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _ENOUGH if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # some systems name a limit that they do not grant
        return soft
    return wanted


def shortage(files: int, requests: int) -> str | None:
    """What to tell where there are too few files for so many requests at a time; None where there are enough."""
    room = max(files - ASIDE, 0) // 2
    if not files or room >= requests:
        return None
    return (
        f"{files} open files are allowed, enough for about {room} requests at a time, and server.max_concurrent is "
        f"{requests}: raise the limit (ulimit -n {2 * requests + ASIDE}), or lower max_concurrent"
    )
