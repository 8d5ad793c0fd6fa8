"""Which addresses the gateway may connect to.

A URL from a client can name a host that resolves to an address of the gateway's own network. So the name is resolved
first, every address is checked, and the connection goes to a checked address. A second lookup cannot change it.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

Guard = Callable[[str], bool]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# The special-purpose registries of IANA, which Python's `is_global` follows only in its newest versions. What is not
# globally reachable, or deprecated, is not public: relays and tunnels (6to4, Teredo) lead to addresses inside them.
_NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        ),
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
# The addresses of this prefix contain an IPv4 address, which a NAT gateway reaches. Networks without IPv4 need it.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def public_only(address: str) -> bool:
    """Whether an address is public: globally reachable by the registries of IANA, and no tunnel or multicast."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    reached = _find_reached(found)
    if isinstance(reached, ipaddress.IPv4Address):
        return not any(reached in network for network in _NOT_PUBLIC_4)
    return reached in _UNICAST_6 and not any(reached in network for network in _NOT_PUBLIC_6)


def is_address(host: str) -> bool:
    """Whether a host is an address and not a name, in any spelling: `0x7f000001` is one."""
    try:
        socket.inet_pton(socket.AF_INET6, host) if ":" in host else socket.inet_aton(host)
    except OSError:
        return False
    return True


def is_named_host(host: str, allowed: Iterable[str]) -> bool:
    """Whether a list of the configuration names a host: by its name, a `*.suffix`, its address or its network."""
    return any(fnmatchcase(host, entry) or _is_within(host, entry) for entry in allowed)


def _is_within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _find_reached(address: _Address) -> _Address:
    """The address, or the IPv4 address that it stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
