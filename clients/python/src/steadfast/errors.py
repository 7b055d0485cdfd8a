"""What can go wrong, told apart by what the caller can do about it."""

from __future__ import annotations

from typing import Any


class SteadfastError(Exception):
    """Anything that Steadfast could not do."""


class BinaryNotFound(SteadfastError):
    """The ``steadfast`` program is not there: install it, or name it with ``STEADFAST_BINARY``."""


class TaskFileError(SteadfastError):
    """A task says something that cannot be; the message names it."""


class ApiError(SteadfastError):
    """A server refused a call."""

    def __init__(self, status: int, code: str, message: str, body: Any = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        #: The HTTP status; 0 where nobody answered.
        self.status = status
        #: A word for programs.
        self.code = code
        #: A sentence for people.
        self.message = message
        #: What the server sent.
        self.body = body
