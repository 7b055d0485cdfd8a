"""The JSON schema for editors, asked by a validator that is not ours: it takes what is right and refuses what is wrong,
and `config check` says the same."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from jsonschema import Draft7Validator

DESIGN = Path(__file__).parents[2] / "crates/config/tests/it/fixtures/design.toml"

WRONG = {
    "an unknown key": 'lissten = "127.0.0.1:4141"',
    "an unknown key further down": "[policies.mine]\nretry_shaer = 0.2",
    "a number for a text": "listen = 4141",
    "a text for a number": '[policies.mine]\nretry_share = "much"',
    "a dialect nobody speaks": '[endpoints.one]\ndialect = "esperanto"\nurl = "https://one.example"',
    "a trigger that is no kind": '[policies.mine.on]\nrate_limits = ["fallback"]',
    "a step that is none": '[policies.mine.on]\nrate_limit = ["pray"]',
    "a rule for a kind there is not": '[[rules]]\nmatch = { status = 418 }\nkind = "teapot"',
    "one where a list belongs": '[ladders]\nclaude = "claude-small"',
}


def steadfast(binary, folder, *arguments):
    """Runs it where no other configuration is found."""
    home = {"HOME": folder, "XDG_CONFIG_HOME": folder, "PATH": os.environ["PATH"]}
    return subprocess.run([binary, *arguments], cwd=folder, env=home, capture_output=True, text=True, timeout=60)


def check(binary):
    with tempfile.TemporaryDirectory() as folder:
        schema = json.loads(steadfast(binary, folder, "config", "schema").stdout)
        Draft7Validator.check_schema(schema)
        validator = Draft7Validator(schema)

        def problems(text):
            return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(tomllib.loads(text))]

        steadfast(binary, folder, "config", "init")
        starter = (Path(folder) / "steadfast.toml").read_text()
        # What is commented out is there to be used: uncommented it must be right too.
        for name, text in [("starter", starter), ("starter, uncommented", uncommented(starter)), ("design", DESIGN.read_text())]:
            assert not problems(text), (name, problems(text))
        for name, text in WRONG.items():
            assert problems(text), f"the schema takes {name}"
            wrong = Path(folder) / "wrong.toml"
            wrong.write_text(text)
            assert steadfast(binary, folder, "config", "check", str(wrong)).returncode == 1, f"`config check` takes {name}"
    print("the JSON schema takes what is right and refuses what is wrong", flush=True)


def uncommented(starter):
    """The starter file with all its settings switched on; a comment that is none begins with a word of prose."""
    return re.sub(r"^# (?=\[|\w+ *=)", "", starter, flags=re.MULTILINE)


if __name__ == "__main__":
    check(sys.argv[1])
