"""Compares the programs of the WebSocket rows, on loopback, and prints medians as Markdown tables.

usage: websocket_rows.py PROGRAMS PYTHON client|server|answers|broadcast|echo ROUNDS

PROGRAMS is the folder of the built programs, PYTHON an interpreter with the packages of peers.txt, or empty. Processor times are
those of the measured process, all threads included.
"""
import os
import resource
import statistics
import sys
import tempfile

from payment_messages import BODY, MESSAGES, SHAPES, write_messages
from processes import Running, end_with_children
from tables import median, ratio, shown, verdict

PROGRAMS, PYTHON, PART, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
HERE = os.path.dirname(os.path.abspath(__file__))
# The most that the supervised rows may add to the counting loop in Swift, in nanoseconds.
BAR = 1200
# The maximum number of unanswered messages of a connection, for servers that answer.
UNANSWERED = 32
CONNECTIONS = (1, 100)


def program(name):
    return os.path.join(PROGRAMS, name)


# Clients


def client_rows():
    own, raw = program("WebSocketBenchmark"), program("RawWebSocketClient")
    rows = {
        "C, counts": [raw, "plain"],
        "C, UTF-8 checked by the library, counts": [raw, "checked"],
        "Swift, counts": [own, "count"],
        "`WebSocketFeed`, no supervisor": [own, "feed"],
        "`WebSocketFeed`, supervisor, `Codable`": [own, "feed-codable"],
        "`WebSocketFeed`, supervisor, `Codable`, inline": [own, "feed-inline"],
        "`WebSocketFeed`, supervisor, read by hand": [own, "feed-hand"],
    }
    if PYTHON:
        script = os.path.join(HERE, "websocket_clients.py")
        rows["picows and orjson, Python"] = [PYTHON, script, "picows"]
        rows["websockets and orjson, Python"] = [PYTHON, script, "websockets"]
    return rows


def client(folder):
    if not PYTHON:
        print("skipped: the rows of picows and websockets, which cannot be installed")
    times = {payload: {name: [] for name in client_rows()} for payload in MESSAGES}
    for payload, rows in times.items():
        count = 200_000 if payload == "small" else 20_000
        for _ in range(ROUNDS):
            for name, command in client_rows().items():
                with Running(program("RawWebSocketFlood"), os.path.join(folder, payload), count) as flood:
                    with Running(*command, flood.line()[0], count) as receiver:
                        rows[name].append(receiver.numbers()[0])
    columns = [f"{len(text):,} bytes{SHAPES[payload]}" for payload, text in MESSAGES.items()]
    lines = [["client", *columns, "202 bytes: ns more than Swift"]]
    for name in client_rows():
        cells = [median(rows[name]) for rows in times.values()]
        lines.append([name, *cells, added(name, times["small"])])
    print(shown("websocket-client", *lines))


def added(name, rows):
    """Returns what a row of the adapter adds to the counting loop, and whether a supervisor may."""
    if "WebSocketFeed" not in name:
        return ""
    more = statistics.median(one - other for one, other in zip(rows[name], rows["Swift, counts"]))
    return f"{more:,.0f}" + (f" ({verdict(more <= BAR, BAR)})" if "no supervisor" not in name else "")


# Servers


def server(folder):
    own, raw = program("WebSocketBenchmark"), program("RawWebSocketServer")
    rows = {
        "C, counts": [raw, "count"],
        "C, UTF-8 checked by the library, counts": [raw, "count-checked"],
        "`WebSocketServer`, no supervisor": [own, "server", 0],
        "`WebSocketServer`, supervisor, `Codable`": [own, "server-codable", 0],
        "`WebSocketServer`, supervisor, read by hand": [own, "server-hand", 0],
    }
    times = received(rows, lambda command, connections: receive(command, folder, connections, 200_000, 0))
    show_servers("websocket-server", times, "C, counts")


def answers(folder):
    own, raw = program("WebSocketBenchmark"), program("RawWebSocketServer")
    c, ours, theirs = "C, answers with the same", "`WebSocketServer`, supervisor, `Codable`", "python-socketio, typed handler, Python"
    rows = {c: [raw, "echo"], ours: [own, "server-answers", 0], ours + ", inline": [own, "server-answers-inline", 0]}
    if PYTHON:
        rows[theirs] = [PYTHON, os.path.join(HERE, "chat_server.py")]
    else:
        print("skipped: the row of python-socketio, which cannot be installed")
    with open(os.path.join(folder, "event"), "w") as file:
        # An event of Socket.IO with the acknowledgement number 1; its envelope replaces ours.
        file.write(f'421["payment",{BODY}]')

    def answered(command, connections):
        if command[0] == PYTHON:
            return receive(command, folder, connections, 20_000, UNANSWERED, "event", "socket.io")
        return receive(command, folder, connections, 100_000, UNANSWERED)

    show_servers("websocket-answers", received(rows, answered), c)


def received(rows, measured):
    """Returns the times of each row with each number of connections."""
    times = {connections: {name: [] for name in rows} for connections in CONNECTIONS}
    for connections, by_name in times.items():
        for _ in range(ROUNDS):
            for name, command in rows.items():
                by_name[name].append(measured(command, connections))
    return times


def receive(command, folder, connections, count, unanswered, file="small", *protocol):
    """Returns the processor time of a message."""
    with Running(*command, count) as receiver:
        sender = [program("RawWebSocketSender"), receiver.line()[0], connections, count, os.path.join(folder, file), unanswered]
        with Running(*sender, *protocol):
            return receiver.numbers()[0]


def show_servers(table, times, base):
    lines = [["server", *[f"{count} connection{'s' if count > 1 else ''} (times C)" for count in CONNECTIONS]]]
    for name in times[1]:
        lines.append([name, *[f"{median(rows[name])} ({ratio(rows[name], rows[base])})" for rows in times.values()]])
    print(shown(table, *lines))


# Crowds


def crowd(folder, work, connections, messages):
    commands = {"C": [program("RawWebSocketServer"), work, 0], "`WebSocketServer`": [program("WebSocketBenchmark"), work, 0, 0]}
    if work == "echo":
        commands["`WebSocketServer`, inline"] = [program("WebSocketBenchmark"), "echo-inline", 0, 0]
    numbers = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            numbers[name].append(look_at(command, folder, work, connections, messages))
    return numbers


def look_at(command, folder, work, connections, messages):
    with Running(*command) as server:
        port = server.line()[0]
        arguments = (work, port, server.process.pid, connections, messages, os.path.join(folder, "small"))
        with Running(program("RawWebSocketCrowd"), *arguments) as clients:
            words = clients.line()
            return dict(zip(words[::2], map(float, words[1::2])))


def crowd_cells(numbers, name, columns, key_of_ratio):
    """Returns the medians of one server's numbers, and how much of C's processor time it takes."""
    cells = [median([line[key] for line in numbers[name]], digits) for key, digits in columns.values()]
    processor = {name: [line[key_of_ratio] for line in lines] for name, lines in numbers.items()}
    return [name, *cells, ratio(processor[name], processor["C"])]


def broadcast(folder):
    numbers = crowd(folder, "broadcast", 1_000, 300)
    columns = {
        "deliveries a second": ("delivered_per_second", 0),
        "us of processor time each": ("cpu_us_per_delivery", 2),
    }
    lines = [crowd_cells(numbers, name, columns, "cpu_us_per_delivery") for name in numbers]
    print(shown("websocket-broadcast", ["server", *columns, "times C"], *lines))


def echo(folder):
    columns = {
        "bytes each, idle": ("bytes_per_connection", 0),
        "after echoes": ("bytes_per_connection_after", 0),
        "us of processor time to open one": ("cpu_us_per_opening", 1),
        "echo p50, us": ("p50_us", 1),
        "p99, us": ("p99_us", 1),
        "us of processor time an echo": ("cpu_us_per_echo", 1),
    }
    lines = [["connections", "server", *columns, "times C"]]
    for connections in (1_000, 10_000):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < connections + 100:
            print(f"skipped: the rows of {connections:,} connections, as a process may not have so many files open (ulimit -n)")
            continue
        numbers = crowd(folder, "echo", connections, 20_000)
        lines += [[f"{connections:,}", *crowd_cells(numbers, name, columns, "cpu_us_per_echo")] for name in numbers]
    print(shown("websocket-echo", *lines))


end_with_children()
with tempfile.TemporaryDirectory() as place:
    write_messages(place)
    {"client": client, "server": server, "answers": answers, "broadcast": broadcast, "echo": echo}[PART](place)
