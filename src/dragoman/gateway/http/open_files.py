"""The limit of open files. Every running request needs two: one for its client and one for its provider."""

from __future__ import annotations

RESERVED = 128
"""Files for other purposes: logs, the ledger, the listening socket, idle connections."""
_DEFAULT_LIMIT = 65_536
"""The limit to set if the system has none."""


def raise_limit() -> int:
    """Raise the limit as far as the system allows. Returns the limit, or 0 if it is unknown.

    The usual 1,024 of a shell is enough for fewer than 500 streams, and the hard limit is far higher.
    """
    try:
        import resource
    except ImportError:  # does not exist on Windows
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _DEFAULT_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return _DEFAULT_LIMIT if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError):  # some systems report a limit that they do not grant
        return soft
    return limit


def shortage(files: int, requests: int) -> str | None:
    """A warning if the limit is too low for this many requests at a time; None if it is enough."""
    room = max(files - RESERVED, 0) // 2
    if not files or room >= requests:
        return None
    return (
        f"{files} open files are allowed, enough for about {room} requests at a time, but server.max_concurrent is "
        f"{requests}: raise the limit (ulimit -n {2 * requests + RESERVED}), or lower max_concurrent"
    )
