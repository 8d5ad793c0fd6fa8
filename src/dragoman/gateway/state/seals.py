"""What clients carry for us, sealed: nobody else can read it, and nobody can change it.

AES-GCM with a key that HKDF makes of the configured secret. The name of the caller's key is authenticated too, so that
what was sealed for one key cannot be opened for another. Every replica with the same secret opens it.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence

_MAGIC = b"dragoman1"
PREFIX = base64.b64encode(_MAGIC).decode()
"""What everything that was sealed here begins with: nine bytes are twelve letters."""
_NONCE = 12
_LONGEST = 4 << 20
SECRET_BYTES = 32


class BrokenSeal(Exception):
    """What is sealed was changed, is of another key, or the secret is no longer known."""


class Seals:
    """Seals with the first secret, and opens what any of them sealed."""

    def __init__(self, known: Sequence[bytes]) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        keys = [HKDF(SHA256(), 32, salt=None, info=b"dragoman carried summaries").derive(one) for one in known]
        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, caller: str, content: bytes) -> str:
        nonce = secrets.token_bytes(_NONCE)
        hidden = self._ciphers[0].encrypt(nonce, content, caller.encode())
        return base64.urlsafe_b64encode(_MAGIC + nonce + hidden).decode()

    def open(self, caller: str, sealed: str) -> bytes:
        """Raises BrokenSeal."""
        from cryptography.exceptions import InvalidTag

        try:
            blob = base64.b64decode(sealed[:_LONGEST], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise BrokenSeal from None
        nonce, hidden = blob[len(_MAGIC) : len(_MAGIC) + _NONCE], blob[len(_MAGIC) + _NONCE :]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, hidden, caller.encode())
            except (InvalidTag, ValueError):
                continue
        raise BrokenSeal
