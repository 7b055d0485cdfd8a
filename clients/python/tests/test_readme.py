"""What the README shows is what happens."""

from __future__ import annotations

import pathlib
from typing import List

import pytest

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def _examples() -> List[str]:
    parts = README.read_text().split("```python\n")[1:]
    return [part.split("```")[0] for part in parts]


def test_its_examples_are_true(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    spawning, asking = _examples()
    exec(spawning, {})
    exec(asking.replace("http://127.0.0.1:4141", server), {})
    said = capsys.readouterr().out
    assert said == "True claude-sonnet-4-5 1 claude-sonnet-4-5 did: count to three\n\nTrue [] 0\nsucceeded\n"
