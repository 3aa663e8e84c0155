"""The parts of the benchmarks: what each runs, how many rounds, its tables, and the peers whose versions they need."""
import collections
import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
MACROS = os.path.join(HERE, "../../.build/macros/release")
HUMMINGBIRD = os.path.join(HERE, "../../.build/hummingbird/release/HummingbirdHello")

# `command` takes a `Place` and returns the command. `rounds` are chosen so that all parts but those of ONLY_BY_NAME take 18 minutes.
Part = collections.namedtuple("Part", "rounds products tables peers command")


class Place:
    """The folder of the built programs, the interpreter with the packages of peers.txt or "", and the rounds of a part."""

    def __init__(self, programs, python, rounds, is_quick):
        self.programs, self.python, self.rounds, self.is_quick = programs, python, rounds, is_quick

    def program(self, name, *arguments):
        return [os.path.join(self.programs, name), *arguments, str(self.rounds)]

    def on_one_core(self, name, *arguments):
        """On two cores the adapter's and the lane's work would overlap, which would favour Signalbox."""
        pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
        return pin + self.program(name, *arguments)

    def script(self, name, *arguments):
        rounds = "--quick" if self.is_quick and name in ("mqtt_rows.py", "capacity_rows.py") else str(self.rounds)
        return ["python3", os.path.join(HERE, name), self.programs, *arguments, rounds]

    def with_display(self, command):
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return command if has_display or not shutil.which("xvfb-run") else ["xvfb-run", "-a", *command]


def dispatching(rounds, product, table, *arguments):
    return Part(rounds, [product], [table], [], lambda place: place.on_one_core(product, *arguments))


def mqtt(rounds, name, tables, *peers):
    products = ["ReceiveBenchmark", "RawSubscriber", "RawPublisher"]
    peers = ["mosquitto", "libmosquitto", *peers]
    return Part(rounds, products, tables, peers, lambda place: place.script("mqtt_rows.py", place.python, name))


def websocket(rounds, name, tables, *peers):
    products = ["WebSocketBenchmark"] + [f"RawWebSocket{name}" for name in ("Flood", "Client", "Sender", "Server", "Crowd")]
    peers = ["libwebsockets", *peers]
    return Part(rounds, products, tables, peers, lambda place: place.script("websocket_rows.py", place.python, name))


ENGINES = ["EngineBenchmark", "RawScriptEngine", "RawPageServer", "RawWebView"]
ENGINE_TABLES = ["engines", "engines-calls", "engines-start", "engines-memory"]
ENGINE_PEERS = ["JavaScriptCore", "WebKitGTK", "Chromium", "libwebsockets"]

CAPACITY_TABLES = [f"capacity-{name}" for name in ("machine", "mqtt", "rates", "idle", "ids", "chat", "http", "example", "load")]

PARTS = {
    "dispatch": dispatching(9, "DispatchBenchmark", "dispatch"),
    "stages": dispatching(31, "DispatchBenchmark", "stages", "--stages"),
    "growth": dispatching(3, "GrowthBenchmark", "growth"),
    # On all cores, which this is about.
    "scale": Part(5, ["ScaleBenchmark"], ["scale"], [], lambda place: place.program("ScaleBenchmark")),
    "store": Part(3, ["StoreBenchmark"], ["store", "store-start"], [], lambda place: place.program("StoreBenchmark")),
    "routes": Part(
        5, ["RouteBenchmark"], ["urls", "routes", "verdict"], ["ada-url"],
        lambda place: place.script("route_rows.py", place.python),
    ),
    "bridge": Part(
        5, ["BridgeBenchmark"], ["bridge"], ["JavaScriptCore"], lambda place: place.program("BridgeBenchmark")
    ),
    "engines": Part(
        3, ENGINES, ENGINE_TABLES, ENGINE_PEERS, lambda place: place.with_display(place.script("engine_rows.py"))
    ),
    "mqtt-receive": mqtt(
        3, "receive", ["mqtt-receive-qos1", "mqtt-receive-qos0"],
        "gmqtt", "paho-mqtt", "aiomqtt", "faststream", "zmqtt", "pydantic", "orjson",
    ),
    "mqtt-latency": mqtt(3, "latency", ["mqtt-latency"]),
    "mqtt-slow": mqtt(3, "slow", ["mqtt-slow"]),
    "mqtt-commit": mqtt(3, "commit", ["mqtt-commit"]),
    "mqtt-journal": mqtt(5, "journal", ["mqtt-journal"]),
    "mqtt-ways": mqtt(3, "ways", ["mqtt-ways"]),
    "mqtt-publish": mqtt(3, "publish", ["mqtt-publish"]),
    "websocket-client": websocket(3, "client", ["websocket-client"], "picows", "websockets", "orjson"),
    "websocket-server": websocket(3, "server", ["websocket-server"]),
    "websocket-answers": websocket(
        3, "answers", ["websocket-answers"], "python-socketio", "uvicorn", "uvloop", "websockets", "msgspec", "orjson"
    ),
    "websocket-broadcast": websocket(3, "broadcast", ["websocket-broadcast"]),
    "websocket-echo": websocket(3, "echo", ["websocket-echo"]),
    "http": Part(
        3, ["HTTPBenchmark", "RawHTTPServer", "RawHTTPClients", "HummingbirdHello"], ["http", "http-idle"],
        ["libwebsockets", "hummingbird"], lambda place: place.script("http_rows.py", HUMMINGBIRD),
    ),
    "plugins": Part(
        3, ["PluginBenchmark", "RawProgram", "RawProgramCaller", "RawPoster", "RawHTTPServer"], ["plugins"],
        ["libwebsockets", "libcurl", "Python"], lambda place: place.script("plugin_rows.py"),
    ),
    "capacity": Part(
        3, ["signalbox", "RawWebSocketCrowd", "RawWebSocketSender", "RawHTTPClients"], CAPACITY_TABLES,
        ["mosquitto", "libwebsockets"], lambda place: place.script("capacity_rows.py"),
    ),
    "macro": Part(15, ["ReadingBenchmark"], ["macro"], [], lambda place: [f"{MACROS}/ReadingBenchmark", str(place.rounds)]),
}
# The macro's build takes minutes, because it builds swift-syntax. `make capacity` measures the other one.
ONLY_BY_NAME = ["capacity", "macro"]
GROUPS = {group: [name for name in PARTS if name.startswith(start)] for group, start in (("receive", "mqtt-"), ("websocket", "websocket-"))}


def named(words):
    """Returns the names of the parts that the words name, all without words. Raises `KeyError` with the first unknown word."""
    names = []
    for word in words or [name for name in PARTS if name not in ONLY_BY_NAME]:
        if word not in PARTS and word not in GROUPS:
            raise KeyError(word)
        names += GROUPS.get(word, [word])
    return names
