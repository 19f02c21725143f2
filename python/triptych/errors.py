"""The errors of Triptych, by audience.

Inside the compiler errors are values; these classes are what the Python border makes of them.
"""

from __future__ import annotations


class TriptychError(RuntimeError):
    """Base of all errors that Triptych raises itself.

    `code` is a short stable reason code, `location` the user's "file:line" when known, `hint` what
    could be done about it.
    """

    def __init__(self, message: str, code: str = "", location: str = "", hint: str = ""):
        super().__init__(message)
        self.code = code
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        where = f" at {self.location}" if self.location else ""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        code = f" [{self.code}]" if self.code else ""
        return f"{self.args[0]}{code}{where}{hint}"


class UserError(TriptychError):
    """A mistake in what was given to Triptych: wrong inputs, text that does not parse."""


class UnsupportedError(TriptychError):
    """Triptych cannot do this (yet): run it eagerly, or one level less compiled."""


class InternalError(TriptychError):
    """A bug of Triptych."""
