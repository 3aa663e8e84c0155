"""The configurations that the capacity rows run: a number of sources of one kind, and a number of plugins that all of them may call."""
from processes import LOOPBACK

# Each plugin answers at once, so that the numbers are those of the dispatcher.
PLUGIN = "  - {{ action: {action}, use: {use}, from: [{sources}] }}"
TOPIC = "capacity"


def action(number):
    return f"payment{number}"


def mqtt(port):
    def source(number):
        return f"mqtt: {{ broker: 'mqtt://{LOOPBACK}:{port}', client_id: source{number}, session_expiry: 0s, topics: [{TOPIC}] }}"

    return source


def feed(port):
    return lambda number: f"feed: {{ url: 'ws://{LOOPBACK}:{port}/' }}"


def chat(port=0, connections=1000):
    return lambda number: f"chat: {{ port: {port}, absent_origin: allowed, connections: {connections} }}"


def chat_of_listener(number):
    return f"chat: {{ listener: web, path: /chat{number}, absent_origin: allowed, health_path: none }}"


def requests(number):
    return f"http: {{ listener: web, routes: ['/source{number}/{{action}}'], anyone: true }}"


def configuration(sources, plugins, use="reply, value: true", port=0):
    """Returns the text. `sources` are the descriptions of sources, `port` is that of the listener `web`."""
    names = [f"source{number}" for number in range(len(sources))]
    lines = ["control: socket"]
    if any("listener: web" in source for source in sources):
        limits = "http_connections: 5000, http_connections_per_address: 5000, http_requests: 1000000"
        lines.append(f"listeners: {{ web: {{ port: {port}, {limits} }} }}")
    lines += ["sources:", *(f"  {name}: {{ {source} }}" for name, source in zip(names, sources)), "plugins:"]
    lines += [PLUGIN.format(action=action(number), use=use, sources=", ".join(names)) for number in range(plugins)]
    return "\n".join(lines) + "\n"
