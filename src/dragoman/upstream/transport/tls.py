"""Which TLS certificates to trust."""

import ssl

import msgspec

from dragoman.upstream.transport.failures import TlsFailed


class Tls(msgspec.Struct, frozen=True):
    """Which certificates are trusted."""

    ca_file: str | None = None
    """Certificate authorities besides the system's."""
    verify: bool = True
    """False trusts everybody."""

    def context(self) -> ssl.SSLContext:
        """A client context that checks chain and host name, and offers HTTP/1.1 only."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        if self.ca_file is not None:
            self._trust(context, self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @staticmethod
    def _trust(context: ssl.SSLContext, ca_file: str) -> None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            advice = "Give a readable PEM file of certificates"
            raise TlsFailed(f"ca_file {ca_file}", f"cannot be read ({error})", advice) from error
