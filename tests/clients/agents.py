"""How each agent is run for one turn without a screen, and where in its output the answer stands.

Each is pointed at the gateway as its user would do it: by `steadfast setup`.
"""

import json


def last(lines, **wanted):
    """The last JSON line of the output with these members."""
    found = None
    for line in lines.splitlines():
        if line.startswith("{"):
            value = json.loads(line)
            if all(value.get(name) == member for name, member in wanted.items()):
                found = value
    return found or {}


def claude(model):
    def answer(out):
        result = last(out, type="result")
        return result.get("result") if result.get("is_error") is False else None

    command = ["claude", "-p", "go", "--model", model, "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"]
    return command, {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}, answer


def codex(model):
    def answer(out):
        item = last(out, type="item.completed").get("item", {})
        return item.get("text") if last(out, type="turn.completed") else None

    # The sandbox needs what this machine may not have; the tool runs in a folder of its own.
    command = ["codex", "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "-m", model, "go"]
    return command, {"OPENAI_API_KEY": "k"}, answer


def gemini(model):
    def answer(out):
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        said = [line["content"] for line in lines if line.get("type") == "message" and line.get("role") == "assistant"]
        return "".join(said) if last(out, type="result").get("status") == "success" else None

    command = ["gemini", "-p", "go", "-m", model, "-o", "stream-json", "--skip-trust", "--approval-mode", "yolo"]
    return command, {"GEMINI_API_KEY": "k", "TERM": "xterm-256color"}, answer


def opencode(model):
    def answer(out):
        part = last(out, type="text").get("part", {})
        finished = last(out, type="step_finish").get("part", {}).get("reason") == "stop"
        return part.get("text") if finished and not last(out, type="error") else None

    command = ["opencode", "run", "--model", f"openai/{model}", "--format", "json", "go"]
    quiet = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return command, {"OPENAI_API_KEY": "k", **quiet}, answer


AGENTS = {run.__name__: run for run in [claude, codex, gemini, opencode]}
