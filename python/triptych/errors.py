"""What Triptych raises: a short stable reason code, the user's source line, a hint."""

from __future__ import annotations


class TriptychError(Exception):
    """The base of all of them."""

    def __init__(self, message: str, code: str = "", location: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.location = location
        self.hint = hint


class UserError(TriptychError, ValueError):
    """A mistake in what was asked for, in the user's terms."""


class UnsupportedError(TriptychError, NotImplementedError):
    """The program is right, but part of it cannot be compiled and runs one level below."""


class InternalError(TriptychError, RuntimeError):
    """A bug of Triptych."""
