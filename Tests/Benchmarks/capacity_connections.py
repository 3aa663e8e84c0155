"""The parts of capacity_rows.py with many connections of clients: a chat, and requests."""
import os
import statistics

import capacity_configurations as configurations
import capacity_loads as loads
import capacity_sizing as sizing
from capacity_program import rate, steady
from capacity_sizing import kib
from capacity_tables import CONNECTIONS, FLOOD, ROUNDS, client, cost, messages, running
from mqtt_programs import free_port
from tables import median, shown


def chat_row(folder, connections):
    """Returns the numbers of one chat: of echoes one by one, then of a flood; and its cost with these connections open."""
    port = free_port()
    sources = [configurations.chat(port, 5_000)(0)]
    with running(folder, sources, 1, use="echo") as program:
        asked = os.path.join(folder, "asked")
        crowd = loads.words(client("RawWebSocketCrowd"), "echo", port, program.process.pid, connections, messages(5_000), asked)
        before = program.sample().handled
        count = max(1, messages(FLOOD) // connections) * connections
        with loads.connected(folder, client("RawWebSocketSender"), port, connections, count):
            numbers = rate(*steady(program.samples(before + count)))
            return crowd, numbers, cost(program)


def chats(folder):
    """Prints the table, and returns the KiB of a connection, without what the first one pays for all."""
    columns = ["KiB each", "us to open one", "us an echo", "echo p50, us", "p99, us", "messages a second", "us a message"]
    lines, most = [["connections", *columns, "threads", "descriptors"]], 0
    for connections in CONNECTIONS:
        runs = [chat_row(folder, connections) for _ in range(ROUNDS)]
        keys = ["cpu_us_per_opening", "cpu_us_per_echo", "p50_us", "p99_us"]
        each = [crowd["bytes_per_connection_after"] / 1024 for crowd, *_ in runs]
        cells = [median(each, 1), *(median([crowd[key] for crowd, *_ in runs], 1) for key in keys)]
        if connections > CONNECTIONS[1]:
            most = max(most, statistics.median(each))
        measured, times = zip(*(numbers for _, numbers, _ in runs))
        lines.append([f"{connections:,}", *cells, median(measured), median(times, 1), *sizing.whole(1, runs[0][2])])
    print(shown("capacity-chat", *lines))
    return most


def requests(folder):
    """Prints the table of HTTP requests."""
    keys = {"requests_per_second": 0, "cpu_us_per_request": 1, "p50_us": 1, "p99_us": 1}
    lines = [["connections", "requests a second", "us a request", "p50, us", "p99, us", "KiB an idle connection"]]
    for busy, idle in ((1, 1_000), (10, 0), (100, 0)):
        runs = []
        for _ in range(ROUNDS):
            port = free_port()
            with running(folder, [configurations.requests(0)], 1, use="echo", port=port) as program:
                path, body = f"/source0/{configurations.action(0)}", os.path.join(folder, "body")
                arguments = (port, program.process.pid, idle, busy, messages(20_000), path, body)
                runs.append(loads.words(client("RawHTTPClients"), *arguments))
        cells = [median([one[key] for one in runs], digits) for key, digits in keys.items()]
        each = kib(min(one["idle_bytes"] for one in runs) / 1024 / idle) if idle else ""
        lines.append([f"{busy:,}", *cells, each])
    print(shown("capacity-http", *lines))
