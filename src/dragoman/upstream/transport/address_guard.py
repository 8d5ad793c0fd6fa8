"""Which addresses may be connected to.

A URL that a client hands us can name a host that resolves into our own network. The name is therefore resolved first,
every address it has is judged, and the connection goes to a judged address: a second look-up cannot change it.
"""

import ipaddress
import socket
from collections.abc import Callable

Guard = Callable[[str], bool]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# NAT64 prefixes carry an IPv4 address that is reached on the far side of a gateway.
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


def public_only(address: str) -> bool:
    """True for addresses of the public internet: not private, loopback, link-local, multicast or reserved."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast and not each.is_reserved for each in _meant(found))


def is_address(host: str) -> bool:
    """True where a host is no name but an address already, in whatever spelling: `0x7f000001` is one too."""
    try:
        socket.inet_pton(socket.AF_INET6, host) if ":" in host else socket.inet_aton(host)
    except OSError:
        return False
    return True


def _meant(address: _Address) -> list[_Address]:
    """The address and, where it wraps an IPv4 address, that one in its place."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return [*address.teredo]
    if any(address in network for network in _NAT64):
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]
