"""Which addresses the gateway may connect to.

A URL from a client can name a host that resolves to an address of the gateway's own network. So the name is resolved
first, every address is checked, and the connection goes to a checked address. A second lookup cannot change it.
"""

import ipaddress
import socket
from collections.abc import Callable

Guard = Callable[[str], bool]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Addresses with a NAT64 prefix contain an IPv4 address, which a NAT gateway reaches.
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


def public_only(address: str) -> bool:
    """Whether an address is public: not private, loopback, link-local, multicast or reserved."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast and not each.is_reserved for each in _reached_addresses(found))


def is_address(host: str) -> bool:
    """Whether a host is an address and not a name, in any spelling: `0x7f000001` is one."""
    try:
        socket.inet_pton(socket.AF_INET6, host) if ":" in host else socket.inet_aton(host)
    except OSError:
        return False
    return True


def _reached_addresses(address: _Address) -> list[_Address]:
    """The address, or the IPv4 addresses that it contains."""
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
