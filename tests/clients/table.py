"""The table: which clients, asked for what, meeting what. Data and nothing else."""

import json

WORDS = " ".join(f"word-{number}" for number in range(1, 17))
# One red pixel.
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8Dwn4EIAAA5AgH/Lr2FygAAAABJRU5ErkJggg=="
CITY, PERSON = {"city": "Ulm"}, {"name": "word-1", "age": 1}


def schema(**properties):
    properties = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# What every SDK is given to ask with.
GIVEN = {"prompt": "go", "image": IMAGE, "tool": schema(city="string"), "schema": schema(name="string", age="integer")}


def call(tool, arguments):
    """The script of a model that calls this tool, and says its words once a result has come."""
    text = f"{tool} {json.dumps(arguments)}".replace("\\", "\\\\").replace('"', '\\"')
    return f'call="{text}"'


# Which endpoints serve an API, what they call a model, and who else could answer.
DIALECTS = {"chat": "openai", "responses": "openai", "messages": "anthropic", "generate": "gemini"}
MODELS = {"openai": "gpt-5", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
FOREIGN = {"openai": ["anthropic", "gemini"], "anthropic": ["openai", "gemini"], "gemini": ["anthropic", "openai"]}

# A chat stream has said all with its `finish_reason`: without `[DONE]` it is whole (docs/gateway.md).
WHOLE_WITHOUT_END = ["chat"]

# Whether a chain may lead to another vendor's format.
TRANSLATES = True

# Cases that fail today for a known reason: a pattern of names, and what they wait for.
AWAITING = {}

# The API each SDK client speaks, by the runner that has it.
SDKS = {
    "sdk.py": {
        "openai-python chat": "chat",
        "openai-python responses": "responses",
        "anthropic-python": "messages",
        "google-genai-python": "generate",
    },
    "sdk.mjs": {
        "openai-js chat": "chat",
        "openai-js responses": "responses",
        "anthropic-js": "messages",
        "ai-sdk openai responses": "responses",
        "ai-sdk openai chat": "chat",
        "ai-sdk anthropic": "messages",
        "ai-sdk google": "generate",
    },
}

# What an SDK is asked for while all is well: the fake's script, and the answer.
FEATURES = {
    "chat": ("ok", {"text": WORDS}),
    "stream": ("ok", {"text": WORDS}),
    "tools": (call("weather", CITY), {"text": WORDS, "calls": [["weather", CITY]]}),
    "json": ("ok", {"json": PERSON}),
    "image": ("ok", {"text": WORDS}),
}

# Silent before the head of the answer, before its first word and between its words, for longer than heartbeats are apart.
SLOW = "wait=2500ms first=1s delay=150ms"

# What the gateway calls each client.
KNOWN_AS = {
    "openai-python chat": "openai-python",
    "openai-python responses": "openai-python",
    "anthropic-python": "anthropic-python",
    "google-genai-python": "google-python",
    "openai-js chat": "openai-node",
    "openai-js responses": "openai-node",
    "anthropic-js": "anthropic-node",
    "ai-sdk openai responses": "ai-sdk",
    "ai-sdk openai chat": "ai-sdk",
    "ai-sdk anthropic": "ai-sdk",
    "ai-sdk google": "ai-sdk",
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
}

# What a target does wrong, for ever.
FAULTS = {
    "429": "status=429 retry-after=none",
    "429 retry-after": "status=429 retry-after=1",
    "500": "status=500",
    "529": "status=529",
    "reset": "reset",
    "stall": "stall",
    "cut": "cut=2",
    "no end": "no-done",
}

# An answer in one piece has two minutes for its head, and no terminal event.
STREAMS_ONLY = ["stall", "no end"]

# After these a client of a `fast` stream has seen a part of the answer. It is told, and asks again itself: one request more.
ASKED_AGAIN = ["cut", "no end"]

# What each agent speaks, the call of its shell tool, and how many requests begin a turn.
COMMAND = "echo made-by-tool > made.txt"
AGENTS = {
    "claude": {"api": "messages", "tool": call("Bash", {"command": COMMAND}), "requests": 1},
    "codex": {"api": "responses", "tool": call("exec_command", {"cmd": COMMAND}), "requests": 1},
    "gemini": {"api": "generate", "tool": call("run_shell_command", {"command": COMMAND}), "requests": 1, "session": False},
    # It also asks for a title, once per session.
    "opencode": {"api": "responses", "tool": call("bash", {"command": COMMAND}), "requests": 2},
}
