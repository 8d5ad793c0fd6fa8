"""What a model is given to read: texts of a bounded size, and pages that were found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from dragoman.conversation.provider_tools import FoundPage

_CUT = "\n[cut here: {} of {} bytes]"


def cut_text(text: str, most: int) -> str:
    """At most so many bytes, whole characters, with a note of what is missing."""
    size = len(text.encode(errors="replace"))
    if size <= most:
        return text
    note = _CUT.format(most, size)
    return text.encode(errors="replace")[: max(most - len(note), 0)].decode(errors="ignore") + note


def hide(text: str, secrets: Iterable[str]) -> str:
    """Without secrets, should a server repeat one."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(secret, "[REDACTED]")
    return text


def render_pages(pages: Sequence[FoundPage]) -> str:
    """Pages as a list for a model, numbered so that it can refer to them."""
    if not pages:
        return "Nothing was found."
    return "\n\n".join([_entry(number, page) for number, page in enumerate(pages, 1)])


def _entry(number: int, page: FoundPage) -> str:
    dated = f" ({page.age})" if page.age else ""
    return f"[{number}] {page.title or page.url}{dated}\n{page.url}" + (f"\n{page.text}" if page.text else "")


def is_within(url: str, domains: Iterable[str]) -> bool:
    """Whether a URL belongs to a domain or to one below it; a domain may be followed by the beginning of a path."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    reached = normpath("/" + unquote(parts.path).lower().lstrip("/"))
    for domain in domains:
        name, slash, path = domain.lower().removeprefix("*.").partition("/")
        if (host == name or host.endswith(f".{name}")) and f"{reached}/".startswith(slash + path):
            return True
    return False


def is_allowed_page(url: str, allowed: Sequence[str], blocked: Sequence[str]) -> bool:
    """Whether a page may be shown: none of a blocked domain, and only those of allowed ones if there are any."""
    return not is_within(url, blocked) and (not allowed or is_within(url, allowed))
