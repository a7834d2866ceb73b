"""libcurl's error numbers, as what they mean to us. Its texts are never used.

Source: https://curl.se/libcurl/c/libcurl-errors.html
"""

from __future__ import annotations

from core.http._seam import Fault

_FAULTS = {
    1: Fault.PROTOCOL,  # an answer without a head (HTTP/0.9)
    5: Fault.CONNECT,
    6: Fault.PIN,  # a lookup that no pin answered
    7: Fault.CONNECT,
    8: Fault.PROTOCOL,
    16: Fault.LOST,
    18: Fault.LOST,
    28: Fault.TIMEOUT,
    35: Fault.TLS,
    42: Fault.PIN,  # one of our gates said no
    43: Fault.OTHER,
    52: Fault.LOST,
    53: Fault.TLS,
    54: Fault.TLS,
    55: Fault.LOST,
    56: Fault.LOST,
    58: Fault.TLS,
    59: Fault.TLS,
    60: Fault.CERTIFICATE,
    61: Fault.PROTOCOL,
    64: Fault.TLS,
    66: Fault.TLS,
    77: Fault.TLS,
    80: Fault.TLS,
    83: Fault.CERTIFICATE,
    90: Fault.CERTIFICATE,
    91: Fault.CERTIFICATE,
    92: Fault.LOST,
    95: Fault.LOST,
    100: Fault.PROTOCOL,
}


def fault_of(number: int) -> Fault:
    """Return what error ``number`` of libcurl means."""
    return _FAULTS.get(number, Fault.OTHER)
