"""Compares docs/configuration.schema.json with `signalbox check` on the repository's configurations.

    schema.py SIGNALBOX

The configurations are those of the examples, the complete ones in the documentation, and every-key.yaml. The schema and
`signalbox check` must accept them. Then faults are injected, one at a time: an unknown key in each mapping, a value of another
type in each place, each required key removed, and the FAULTS below. Both must refuse each fault. Exits with status 1 if one
of them does not, or if no configuration uses a key of the schema.
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/configuration.schema.json").read_text())
ENVIRONMENT = os.environ | {"SIGNALBOX_TOUR_BROKER": "mqtt://127.0.0.1:1883"}
SHOWN = 20
# Whether a file or a variable exists depends on the machine, so the schema cannot check it.
ENVIRONMENT_CODES = {"missingFile", "missingVariable"}

# Places in every-key.yaml, and invalid values for them.
FAULTS = {
    ("timeout",): [3, "3", "soon", "3 s", "3S", "-1s", "1.5s", "03s"],
    ("limits", "depth"): [0, 513, 1.5, "many"],
    ("limits", "message_bytes"): ["64KB", "64 KiB", -1, "1e3"],
    ("log_lines_per_second",): [0, 1000001],
    ("sources", "push", "rate_limit", "per_second"): [0, 10000001],
    ("sources", "push", "deduplication"): ["always", True],
    ("sources", "push", "durability"): ["disk", True, {"journal": {"rows": 0}}, {"journal": {"age": "7"}}, {}],
    ("store",): [7, "", {"handled_ids": 1}, {"path": "a", "handled_ids": 0}, {"path": "a", "dead_letters": {"count": 0}},
                 {"path": "a", "history": {"age": 0}}],
    ("sources", "push", "mqtt", "password"): ["canary-4711", {"env": "canary 4711"}, {"env": "4711"}],
    ("sources", "push", "mqtt", "client_id"): [12, True, ""],
    ("sources", "push", "mqtt", "broker"): [{"env": "A", "file": "B"}, {}],
    ("sources", "push", "mqtt", "receive_maximum"): [0, 65536],
    ("sources", "push", "mqtt", "coalesce"): ["on", 200, "0.2ms", True],
    ("sources", "push", "mqtt", "broker_queue"): [-1],
    ("sources", "push", "mqtt", "topics"): [[]],
    ("sources", "push", "mqtt", "topics", 0): [
        {"pattern": "a", "payload": "text"},
        {"pattern": "a/{action}", "action": "b"},
        {"pattern": "a/{action}", "envelope": "apns"},
        {"pattern": "a", "action": "b", "envelope": "standard"},
        {"pattern": "a", "payload": "xml"},
        {"pattern": "a", "envelope": "cloudevents"},
    ],
    ("sources", "push", "mqtt", "version"): ["3.1", 4, True],
    ("sources", "push", "mqtt", "will", "qos"): [2],
    ("sources", "push", "mqtt", "connections", 0, "name"): ["", "a b", "a" * 65],
    ("sources", "push", "mqtt", "publishing", "queued_messages"): [0, 1000001],
    ("sources", "push", "mqtt", "topics", 3, "qos"): [2],
    ("sources", "push", "mqtt", "topics", 3, "retained"): ["never"],
    ("sources", "secured", "mqtt", "trust"): ["nobody", {}],
    ("sources", "secured", "mqtt", "broker"): [
        "mqtt://broker.example", "ws://broker.example", "unix:/run/mosquitto.sock", [],
        ["mqtt://broker.example"], ["mqtts://broker.example", "ws://broker.example"],
        ["mqtts://broker.example", "mqtts://broker.example"], [f"mqtts://{n}.example" for n in range(17)],
    ],
    ("sources", "secured", "mqtt", "broker_order"): ["random"],
    ("sources", "secured", "mqtt", "proxy"): [{"username": "kiosk"}, ["http://proxy.example"]],
    ("sources", "secured", "mqtt", "headers"): [["X-Client: kiosk"], {"X-Client": ["kiosk"]}],
    ("sources", "secured", "mqtt", "alpn"): ["", [""], {"mqtt": 1}],
    ("sources", "secured", "mqtt", "connect_timeout"): [10, "10", "0.1s"],
    ("sources", "shared", "mqtt", "pre_shared_key"): [
        {"identity": "a"}, {"key": {"env": "A"}}, {"identity": "a", "key": "0123456789abcdef"},
    ],
    ("sources", "shared", "mqtt", "broker"): ["mqtt://broker.example"],
    ("sources", "page"): [{"script": {"files": ["a.js"]}, "links": {"routes": []}}, {"window": {"arrivals": 1}}],
    ("sources", "page", "script", "files"): [[], [7]],
    ("sources", "links", "links", "routes"): [[]],
    ("sources", "links", "links", "routes", 0): [
        {"pattern": "myapp://a"},
        {"pattern": "myapp://a/{action}", "action": "b"},
        {"pattern": "myapp://a", "action": "signalbox.a"},
    ],
    ("sources", "prices", "feed"): [
        {"url": "ws://feed.example/", "reconnect": "sometimes"},
        {"url": "ws://feed.example/", "ping_after": "often"},
        {"url": "ws://feed.example/", "bearer": "canary-4711"},
    ],
    ("sources", "prices", "feed", "trust"): ["nobody", {}],
    ("sources", "prices", "feed", "frames", "text"): ["xml", {"payload": "text"}, {"action": "a", "payload": "bytes"}],
    ("sources", "prices", "feed", "frames", "batch"): [0, 10001],
    ("sources", "prices", "feed", "frames", "binary"): ["signalbox.connected", "a b"],
    ("sources", "chat", "chat", "port"): [-1, 65536, "many"],
    ("sources", "chat", "chat", "absent_origin"): ["maybe"],
    ("sources", "chat", "chat", "principals"): [{"kitchen": "canary-4711"}],
    ("sources", "chat", "chat", "connections"): [0, 1000001],
    ("sources", "chat", "chat", "tags_per_connection"): [0, 1001],
    ("sources", "chat", "chat", "backplane"): [{}, {"topic": "a"}, 5],
    ("sources", "lobby", "chat"): [
        {"listener": "web", "absent_origin": "allowed", "port": 8081},
        {"listener": "web", "absent_origin": "allowed", "http_requests": 100},
        {"listener": "web", "absent_origin": "allowed", "all_waiting_bytes": "64MiB"},
    ],
    ("sources", "orders", "http"): [
        {"listener": "web"},
        {"listener": "web", "anyone": False},
        {"listener": "web", "principals": {}, "signatures": {}},
        {"listener": "web", "anyone": True, "port": 8081},
        {"listener": "web", "anyone": True, "address": "::1"},
        {"listener": "web", "anyone": True, "connections": 10},
    ],
    ("sources", "orders", "http", "routes"): [[]],
    ("sources", "orders", "http", "routes", 1): [
        {"action": "paid"},
        {"path": "/hooks/{action}", "action": "paid"},
        {"path": "/hooks", "action": "signalbox.paid"},
        {"path": "/hooks/{action}", "payload": "xml"},
    ],
    ("sources", "orders", "http", "principals"): [{"shop": "canary-4711"}],
    ("sources", "orders", "http", "signatures", "provider"): [
        {"key": {"env": "A"}},
        {"scheme": "stripe"},
        {"scheme": "stripe", "key": "canary-4711"},
        {"scheme": "basic", "key": {"env": "A"}},
        {"scheme": "stripe", "key": {"env": "A"}, "tolerance": 300},
    ],
    ("sources", "orders", "http", "addresses"): [["10.0.0.0/8", 7]],
    ("sources", "orders", "http", "waiting"): [0, 1000001],
    ("sources", "orders", "http", "streams"): [-1, 1000001],
    ("sources", "status", "http", "port"): [-1, 65536, "many"],
    ("observe",): [
        "127.0.0.1", "9090", "::1:9090", {"token": {"env": "A"}}, {"listener": "web", "port": 1}, {"port": 65536},
        {"port": 0, "token": "canary-4711"}, {"port": 0, "path": "/"}, {"port": 0, "console": "full"},
        {"port": 0, "token": {"env": "A"}, "console": True},
    ],
    ("control",): [[], 7, {"read_only": True}, {"path": "a", "mode": "0600"}, {"path": "a", "read_only": "maybe"}],
    ("otlp",): [7, True, "127.0.0.1:4318", "grpc://127.0.0.1:4317", {}, {"service": "a"}],
    ("otlp", "sample"): [-0.5, 1.5, "most"],
    ("otlp", "interval"): [10, "10 s"],
    ("otlp", "queue"): [0, 100001, 1.5],
    ("otlp", "headers", "Authorization"): [{"env": "canary 4711"}],
    ("listeners", "web"): [{"address": "127.0.0.1"}],
    ("listeners", "web", "port"): [-1, 65536, "many"],
    ("listeners", "web", "connections"): [0, 1000001],
    ("listeners", "web", "http_requests"): [0, 1000001],
    ("plugins", 0): [
        {"action": "a", "use": "echo", "tag": "b", "from": [{"source": "push"}]},
        {"action": "a", "use": "file", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "path": "b", "from": [{"source": "push"}]},
        {"action": "a", "use": "reply", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "value": 1, "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "retryable": True, "from": [{"source": "push"}]},
        {"action": "a", "use": "print", "inline": True, "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "inline": True, "order": "none", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "inline": True, "max_concurrent": 2, "from": [{"source": "push"}]},
        {"action": "a", "use": "publish", "source": "push", "from": [{"source": "push"}]},
        {"action": "a", "use": "publish", "topic": "a", "from": [{"source": "push"}]},
        {"action": "a", "use": "publish", "source": "push", "topic": "a", "qos": 2, "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "topic": "a", "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": [], "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": "lp -s", "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": ["lp"], "env": ["SIGNALBOX_ID"], "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": ["lp"], "output": "xml", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "command": ["lp"], "from": [{"source": "push"}]},
        {"action": "a", "use": "process", "from": [{"source": "push"}]},
        {"action": "a", "use": "process", "command": ["a"], "output": "json", "from": [{"source": "push"}]},
        {"action": "a", "use": "process", "command": ["a"], "processes": 65, "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": ["a"], "heartbeat": "1s", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "method": "GET", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "bearer": "canary-4711", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "signature": {}, "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "trust": "nobody", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "output": "xml", "from": [{"source": "push"}]},
        {"action": "a", "use": "http", "url": "https://a/", "command": ["lp"], "from": [{"source": "push"}]},
        {"action": "a", "use": "exec", "command": ["lp"], "url": "https://a/", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "output": "json", "from": [{"source": "push"}]},
        {"action": "a", "use": "map", "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "body": {}, "from": [{"source": "push"}]},
        {"action": "a", "use": "chain", "from": [{"source": "push"}]},
        {"action": "a", "use": "chain", "steps": [], "from": [{"source": "push"}]},
        {"action": "a", "use": "log", "steps": [{"use": "log"}], "from": [{"source": "push"}]},
        {"action": "a", "use": "filter", "from": [{"source": "push"}]},
    ] + [
        {"action": "a", "use": "chain", "steps": [step, {"use": "log"}], "from": [{"source": "push"}]} for step in [
            {"use": "chain", "steps": [{"use": "log"}]},
            {"use": "log", "from": ["push"]},
            {"use": "log", "when": "/a"},
            {"use": "filter"},
            {"use": "filter", "when": "/a", "otherwise": "fail"},
            {"use": "throttle", "limit": 0},
            {"use": "throttle", "limit": 1, "above": "fail"},
            {"use": "throttle", "limit": 1, "per": 1},
            {"use": "aggregate", "count": 1, "within": "1s"},
            {"use": "sample", "one_in": 1},
            {"use": "sample", "one_in": 2, "by": 3},
            {"use": "file"},
        ]
    ],
    ("plugins", 0, "action"): ["2push", "a b", "a" * 65, "signalbox.a", "signalbox.connect"],
    ("plugins", 0, "from"): [[]],
    ("plugins", 0, "from", 0): [
        {"any": []},
        {"any": [{"source": "push"}], "source": "push"},
        {"not": {"source": "push"}, "topic": "a"},
        {"all": [{"source": "push"}], "any": [{"source": "push"}]},
        {"source": "push", "qos": 2},
        {"source": "push", "topic": "a", "scheme": "myapp"},
        {"source": "page", "topic": "a", "main_frame": True},
        {"source": "links", "scheme": "myapp", "host": "shop.example"},
        {"source": "chat", "principal": "kitchen", "main_frame": True},
        {"source": "chat", "authenticated": "yes"},
        {"source": "prices", "tls": True, "principal": "kitchen"},
        {"source": "push", "topic": "a", "tls": True},
    ],
    ("plugins", 0, "order"): ["sorce", {}, {"key": "a..b"}, {"key": ""}, {"key": ".".join("a" * 17)}],
    ("plugins", 0, "max_concurrent"): [0, 10001],
    ("plugins", 0, "retry", "attempts"): [0, 101],
    ("plugins", 0, "retry", "up_to"): [6, "6 h"],
    ("plugins", 0, "circuit_breaker", "failures"): [0],
    ("tests",): [7, ""],
    ("tests", 0): [
        {"name": "a", "source": "push", "topic": "a", "expect": {"outcome": "handled"}},
        {"name": "a", "source": "page", "body": 1, "text": "1", "expect": {"outcome": "handled"}},
        {"name": "a", "source": "page", "body": 1, "id": "7", "expect": {"outcome": "handled"}},
        {"name": "a", "source": "page", "action": "a b", "expect": {"outcome": "handled"}},
        {"name": "a", "source": "page", "action": "a", "text": "1", "expect": {"outcome": "handled"}},
        {"name": "a", "url": "myapp://a", "kind": "link", "expect": {"outcome": "handled"}},
        {"name": "a", "source": "page", "navigate": "https://a/", "expect": {"policy": "allow"}},
        {"source": "page", "body": 1, "expect": {"outcome": "handled"}},
    ],
    ("tests", 0, "qos"): [2],
    ("tests", 0, "expect"): [{}, {"outcome": "abandoned"}, {"reason": "drain"}, {"plugin": "prnt"}, {"verdict": "allow"}],
    ("tests", 1, "frame"): ["top"],
    ("tests", 7, "kind"): ["lnik"],
    ("navigation", "fallback"): ["deny"],
    ("navigation", "chain", 0): [
        {"schemes": ["https"], "hosts": ["a.example"]},
        {"schemes": ["https"], "ports": "any"},
        {"home": "https://a.example/", "kinds": ["lnik"]},
        {"hosts": ["a.example"], "ports": [65536]},
        {"name": "nobody"},
    ],
}


def configurations():
    """Yields the name and the content of each complete configuration."""
    files = sorted((ROOT / "examples").rglob("*.yaml")) + [ROOT / "Tests/Schema/every-key.yaml"]
    for file in files:
        if ".build" not in file.parts:
            yield str(file.relative_to(ROOT)), yaml.safe_load(file.read_text())
    guides = [ROOT / "README.md"] + [
        file
        for folder in ["docs", "Sources", "adapters"]
        for file in sorted((ROOT / folder).rglob("*.md"))
    ]
    for file in guides:
        blocks = re.findall(r"^```yaml\n(.*?)^```", file.read_text(), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks):
            content = yaml.safe_load(block)
            if isinstance(content, dict) and ("sources" in content or "navigation" in content):
                yield f"{file.relative_to(ROOT)}, block {number + 1}", content


def at(content, path):
    for step in path:
        content = content[step]
    return content


def changed(content, path, value):
    content = copy.deepcopy(content)
    if not path:
        return value
    at(content, path[:-1])[path[-1]] = value
    return content


def without(content, path):
    content = copy.deepcopy(content)
    del at(content, path[:-1])[path[-1]]
    return content


def is_any(path):
    """Whether the value may be any JSON: the value of `reply`, the body of `map`, and the bodies and replies of tests."""
    last = path[4:] if path[2:3] == ("steps",) else path[2:]
    return (path[:1] == ("plugins",) and last in [("value",), ("body",)]) or (
        path[:1] == ("tests",) and (path[2:] == ("body",) or path[2:] in [("expect", "body"), ("expect", "reply")])
    )


def places(content, path=()):
    """Yields each place that the schema describes: all except values that may be any JSON."""
    yield path
    if is_any(path):
        return
    steps = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else []
    for step, value in steps:
        yield from places(value, path + (step,))


REQUIRED = {"sources", "plugins", "broker", "client_id", "topics", "pattern", "routes", "use", "from", "per_second", "key",
            "chain", "journal", "store", "fallback", "own_hosts", "source", "url", "port", "listener", "to", "certificate",
            "authority", "type", "command", "expect", "steps", "when", "limit", "one_in"}


def is_required(content, path):
    holder = at(content, path[:-1])
    if not isinstance(holder, dict) or path[-1] not in REQUIRED:
        return False
    # Only a journal needs a store.
    if path == ("store",):
        return any(source.get("durability", "none") != "none" for source in content["sources"].values())
    # The name of a source, the fallback of links, and parts of a rule may be the same words.
    if path[:-1] == ("sources",) or (path[-1] == "fallback" and "routes" in holder) or path[-2:-1] == ("publishing",):
        return False
    # Only links need routes; HTTP requests have one by default.
    if path[-2:] == ("http", "routes"):
        return False
    # A broadcast needs `to` only for some kinds of source, which the schema does not know.
    if path[-1] == "to" and holder.get("use") == "broadcast":
        return False
    # A test names its source only if several could have the message.
    if path[0] == "tests" and path[-1] == "source":
        return False
    return not (path == ("sources",) and "navigation" in content)


def faults(name, content):
    """Yields the faults to refuse: a description and the configuration."""
    for path in places(content):
        value = at(content, path)
        if is_any(path):
            continue
        shown = f"{name}: {'.'.join(map(str, path)) or '(root)'}"
        if isinstance(value, dict):
            yield f"{shown}: an unknown key", changed(content, path + ("zzz",), 1)
        if path:
            # A list in place of a mapping, a mapping in place of anything else.
            yield f"{shown}: another type", changed(content, path, [[1]] if isinstance(value, dict) else {"zz": 1})
            if is_required(content, path):
                yield f"{shown}: removed", without(content, path)
    if name.endswith("every-key.yaml"):
        for path, values in FAULTS.items():
            for value in values:
                yield f"{name}: {'.'.join(map(str, path))}: {json.dumps(value)}", changed(content, path, value)


def check(program, contents):
    """Returns the errors of `signalbox check` for each configuration."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, content in enumerate(contents):
            names.append(f"{folder}/{number}.yaml")
            pathlib.Path(names[-1]).write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False))
        found = {name: [] for name in names}
        for start in range(0, len(names), 200):
            run = subprocess.run(
                [program, "check", "--json"] + names[start:start + 200],
                capture_output=True, cwd=ROOT, env=ENVIRONMENT, text=True,
            )
            assert run.returncode in (0, 65), run.stderr
            for line in run.stdout.splitlines():
                finding = json.loads(line)
                if finding["severity"] == "error" and finding["code"] not in ENVIRONMENT_CODES:
                    found[finding["file"]].append(f"{finding['code']} {finding['path']}: {finding['message']}")
        return [found[name] for name in names]


def keys(content):
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from keys(value)
    elif isinstance(content, list):
        for value in content:
            yield from keys(value)


def main(program):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    problems = []
    good = list(configurations())
    for (name, content), errors in zip(good, check(program, [content for _, content in good])):
        problems += [f"{name}: the schema refuses it: {error.message}" for error in validator.iter_errors(content)]
        problems += [f"{name}: check refuses it: {error}" for error in errors]
    used = {key for _, content in good for key in keys(content)}
    for definition, schema in SCHEMA["$defs"].items():
        problems += [f"no configuration has {definition}.{key}" for key in schema.get("properties", {}) if key not in used]
    bad = [fault for name, content in good for fault in faults(name, content)]
    for (fault, content), errors in zip(bad, check(program, [content for _, content in bad])):
        if validator.is_valid(content):
            problems.append(f"{fault}: the schema accepts it; check reports {errors}")
        if not errors:
            problems.append(f"{fault}: check accepts it")
    for problem in problems[:SHOWN]:
        print(problem)
    print(f"{len(good)} configurations, {len(bad)} injected faults: {len(problems)} problems")
    return 1 if problems or len(good) < 4 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
