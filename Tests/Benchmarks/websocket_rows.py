"""Compares the programs of the WebSocket rows, on loopback, and prints medians.

usage: websocket_rows.py PROGRAMS PYTHON client|server|broadcast|echo ROUNDS

PROGRAMS is the folder of the built programs, PYTHON an interpreter with the packages of websocket_clients.py, or empty.
Processor times are those of the measured process, all threads included.
"""
import os
import resource
import select
import statistics
import subprocess
import sys
import tempfile

from payment_messages import MESSAGES, PAYMENT, write_messages

PROGRAMS, PYTHON, PART, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
SECONDS = 60
BAR = 1200
# The maximum number of unanswered messages of a connection, for servers that answer.
UNANSWERED = 32


def program(name):
    return os.path.join(PROGRAMS, name)


class Running:
    """A child process that is always ended, by its id, on exit."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        text = self.process.stdout.readline() if ready else ""
        if not text:
            raise SystemExit(f"{self.process.args} printed nothing, status {self.process.poll()}")
        return text.split()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(SECONDS)
        self.process.stdout.close()


def finish(*command):
    subprocess.run([str(part) for part in command], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)


def table(title, columns, rows, width=44):
    print(f"\n{title}")
    print(" " * (width + 2) + "".join(f"{column:>17}" for column in columns))
    for name, cells in rows:
        print(f"  {name:<{width}}" + "".join(f"{cell:>17}" for cell in cells))


def median(values, digits=0):
    return f"{statistics.median(values):,.{digits}f}"


# Clients


def client_rows():
    own = [program("WebSocketBenchmark")]
    raw = [program("RawWebSocketClient")]
    rows = {
        "C, counts": raw + ["plain"],
        "C, UTF-8 checked, counts": raw + ["checked"],
        "Swift, counts": own + ["count"],
        "WebSocketFeed, no supervisor": own + ["feed"],
        "WebSocketFeed, supervisor, Codable": own + ["feed-codable"],
        "WebSocketFeed, supervisor, read by hand": own + ["feed-hand"],
    }
    if PYTHON:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "websocket_clients.py")
        rows["picows 2.3.1 and orjson, Python"] = [PYTHON, script, "picows"]
        rows["websockets 17.4 and orjson, Python"] = [PYTHON, script, "websockets"]
    return rows


def client(folder):
    for payload, text in MESSAGES.items():
        count = 500_000 if payload == "small" else 50_000
        times = {name: [] for name in client_rows()}
        for _ in range(ROUNDS):
            for name, command in client_rows().items():
                with Running(program("RawWebSocketFlood"), os.path.join(folder, payload), count) as flood:
                    port = flood.line()[0]
                    with Running(*command, port, count) as receiver:
                        times[name].append([float(time) for time in receiver.line()])
        title = f"Client, {payload} ({len(text)} bytes), medians of {ROUNDS} rounds of {count:,} messages"
        show_times(title, times)
        added(times, "WebSocketFeed, supervisor, Codable", "Swift, counts", payload == "small")
        added(times, "WebSocketFeed, supervisor, read by hand", "Swift, counts", payload == "small")


def show_times(title, times):
    rows = [
        (name, [median([cpu for cpu, _ in pairs]), median([1e9 / wall for _, wall in pairs])])
        for name, pairs in times.items()
    ]
    table(title, ["cpu ns a message", "messages a second"], rows)


def added(times, row, base, has_bar):
    more = statistics.median(one[0] - other[0] for one, other in zip(times[row], times[base]))
    verdict = f" (bar {BAR}: {'met' if more <= BAR else 'MISSED'})" if has_bar else ""
    print(f"  {row}: {more:.0f} ns more than {base}{verdict}")


# Servers


def server(folder):
    own = program("WebSocketBenchmark")
    raw = program("RawWebSocketServer")
    count = 400_000
    rows = {
        "C, counts": [raw, "count"],
        "C, UTF-8 checked, counts": [raw, "count-checked"],
        "C, answers with the same": [raw, "echo"],
        "WebSocketServer, no supervisor": [own, "server", 0],
        "WebSocketServer, supervisor, Codable": [own, "server-codable", 0],
        "WebSocketServer, supervisor, read by hand": [own, "server-hand", 0],
        "WebSocketServer, Codable, answers": [own, "server-answers", 0],
    }
    for connections in (1, 100):
        times = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, command in rows.items():
                unanswered = UNANSWERED if "answers" in name else 0
                times[name].append(receive(command, folder, connections, count, unanswered))
        title = f"Server, {connections} connections, {len(PAYMENT)} bytes, medians of {ROUNDS} rounds of {count:,} messages"
        show_times(title, times)
        added(times, "WebSocketServer, supervisor, Codable", "C, counts", False)
        added(times, "WebSocketServer, supervisor, read by hand", "C, counts", False)


def receive(command, folder, connections, count, unanswered):
    with Running(*command, count) as receiver:
        port = receiver.line()[0]
        with Running(program("RawWebSocketSender"), port, connections, count, os.path.join(folder, "small"), unanswered):
            return [float(time) for time in receiver.line()]


# Crowds


def crowd(folder, work, connections, messages):
    own = [program("WebSocketBenchmark"), work, 0, 0]
    raw = [program("RawWebSocketServer"), work, 0]
    numbers = {"C": [], "WebSocketServer": []}
    for _ in range(ROUNDS):
        for name, command in (("C", raw), ("WebSocketServer", own)):
            numbers[name].append(look_at(command, folder, work, connections, messages))
    return numbers


def look_at(command, folder, work, connections, messages):
    with Running(*command) as server:
        port = server.line()[0]
        arguments = (work, port, server.process.pid, connections, messages, os.path.join(folder, "small"))
        with Running(program("RawWebSocketCrowd"), *arguments) as clients:
            words = clients.line()
            return dict(zip(words[::2], map(float, words[1::2])))


def show_crowd(title, numbers, columns):
    rows = [
        (name, [median([line[key] for line in lines], digits) for key, digits in columns.values()])
        for name, lines in numbers.items()
    ]
    table(title, list(columns), rows, width=20)


def broadcast(folder):
    connections, messages = 1_000, 300
    numbers = crowd(folder, "broadcast", connections, messages)
    columns = {
        "deliveries/s": ("delivered_per_second", 0),
        "cpu us each": ("cpu_us_per_delivery", 2),
        "clients' cpu us": ("clients_cpu_us_per_delivery", 2),
    }
    show_crowd(f"Broadcast of {messages} messages to {connections:,} connections, medians of {ROUNDS}", numbers, columns)
    ratios = [
        one["cpu_us_per_delivery"] / other["cpu_us_per_delivery"]
        for one, other in zip(numbers["WebSocketServer"], numbers["C"])
    ]
    print(f"  times the processor time of C: {median(ratios, 2)}")


def echo(folder):
    for connections in (1_000, 10_000):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < connections + 100:
            print(f"\nEcho, {connections:,} connections: left out, as a process may not have so many files open (ulimit -n)")
            continue
        numbers = crowd(folder, "echo", connections, 20_000)
        columns = {
            "bytes each, idle": ("bytes_per_connection", 0),
            "after echoes": ("bytes_per_connection_after", 0),
            "opened/s": ("opened_per_second", 0),
            "cpu us opening": ("cpu_us_per_opening", 1),
            "echo p50 us": ("p50_us", 1),
            "echo p99 us": ("p99_us", 1),
            "cpu us an echo": ("cpu_us_per_echo", 1),
        }
        show_crowd(f"Echo, {connections:,} connections, medians of {ROUNDS}", numbers, columns)


with tempfile.TemporaryDirectory() as place:
    write_messages(place)
    {"client": client, "server": server, "broadcast": broadcast, "echo": echo}[PART](place)
