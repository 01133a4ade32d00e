"""UTF-8 byte by byte, and the non-ASCII white space."""

from typing import Final

from guideway.masks.kernels.views import inner

INVALID: Final = 8


@inner
def utf8_after(state: int, byte: int) -> int:
    """UTF-8 state after a byte (RFC 3629 §4): 0 between characters, 1–7 within one, or INVALID."""
    if state == 0:
        return utf8_lead(byte)
    low = 0xA0 if state == 4 else 0x90 if state == 6 else 0x80
    high = 0x9F if state == 5 else 0x8F if state == 7 else 0xBF
    if state == INVALID or byte < low or byte > high:
        return INVALID
    return state - 1 if state <= 3 else 1 if state <= 5 else 2


@inner
def utf8_lead(byte: int) -> int:
    if byte < 0xC2 or byte > 0xF4:
        return 0 if byte < 0x80 else INVALID
    if byte < 0xE0:
        return 1
    if byte < 0xF0:
        return 4 if byte == 0xE0 else 5 if byte == 0xED else 2
    return 6 if byte == 0xF0 else 7 if byte == 0xF4 else 3


@inner
def code_after(code: int, byte: int) -> int:
    """The last three bytes of a character << 4 | the UTF-8 state after `byte`, 0 at its end."""
    before = code & 15
    read = ((code >> 4) << 8 | byte) & 0xFFFFFF if before != 0 else byte
    return read << 4 | utf8_after(before, byte)


@inner
def is_space(read: int) -> bool:
    """Return True for white space outside ASCII: U+0085, A0, 1680, 2000 to 200A, …"""
    if 0xE28080 <= read <= 0xE2808A or read in (0xC285, 0xC2A0, 0xE19A80, 0xE280A8, 0xE280A9):
        return True
    return read in (0xE280AF, 0xE2819F, 0xE38080, 0xEFBBBF)


@inner
def begins_space(read: int) -> bool:
    """Return True if these one or two bytes begin such white space."""
    if read in (0xC2, 0xE1, 0xE2, 0xE3, 0xEF):
        return True
    return read in (0xE19A, 0xE280, 0xE281, 0xE380, 0xEFBB)
