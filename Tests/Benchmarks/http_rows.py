"""Compares HTTP servers on loopback, and prints medians as Markdown tables.

usage: http_rows.py PROGRAMS HUMMINGBIRD ROUNDS

PROGRAMS is the folder of the built programs, HUMMINGBIRD the program of Tests/PeerServers or empty. The clients are a second
process. Processor times are those of the server, all threads included.
"""
import os
import resource
import sys
import tempfile

from payment_messages import BODY
from processes import Running, end_with_children
from tables import median, ratio, shown, verdict

PROGRAMS, HUMMINGBIRD, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
BASE = "C, answers with the same"
IDLE = 10_000
# The most memory that the server may have with so many idle connections, in bytes.
MEMORY_BAR = 100_000_000


def program(name):
    return os.path.join(PROGRAMS, name)


def servers():
    """Returns the command of each row, and whether it has a body."""
    rows = {
        BASE: ([program("RawHTTPServer")], True),
        "`HTTPActionServer`, typed plugin": ([program("HTTPBenchmark"), "lane"], True),
        "`HTTPActionServer`, typed plugin, inline": ([program("HTTPBenchmark"), "inline"], True),
    }
    if os.path.exists(HUMMINGBIRD):
        rows["hummingbird, typed body"] = ([HUMMINGBIRD], True)
        rows["hummingbird, hello world, `GET`"] = ([HUMMINGBIRD], False)
    else:
        print("skipped: the rows of hummingbird, which cannot be built")
    return rows


def look_at(row, folder, idle, busy, requests):
    command, has_body = row
    with Running(*command) as server:
        what = ["/payment", os.path.join(folder, "body")] if has_body else ["/hello"]
        port = server.line()[0]
        with Running(program("RawHTTPClients"), port, server.process.pid, idle, busy, requests, *what) as clients:
            words = clients.line()
            return dict(zip(words[::2], map(float, words[1::2])))


def measured(rounds, folder, idle, busy, requests):
    rows = servers()
    numbers = {name: [] for name in rows}
    for _ in range(rounds):
        for name, row in rows.items():
            numbers[name].append(look_at(row, folder, idle, busy, requests))
    return numbers


def requests(folder):
    columns = {
        "requests a second": ("requests_per_second", 0),
        "p50, us": ("p50_us", 1),
        "p99, us": ("p99_us", 1),
        "us of processor time each": ("cpu_us_per_request", 1),
    }
    lines = [["connections", "server", *columns, "times C"]]
    for connections in (1, 100):
        numbers = measured(ROUNDS, folder, 0, connections, 20_000)
        processor = {name: [one["cpu_us_per_request"] for one in rows] for name, rows in numbers.items()}
        for name, rows in numbers.items():
            cells = [median([one[key] for one in rows], digits) for key, digits in columns.values()]
            lines.append([str(connections), name, *cells, ratio(processor[name], processor[BASE])])
    print(shown("http", *lines))


def idle(folder):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < IDLE + 100:
        print(f"skipped: {IDLE:,} connections, as a process may not have so many files open (ulimit -n)")
        return
    # Memory does not vary from round to round, and 10,000 connections take a while.
    numbers = measured(1, folder, IDLE, 1, 5_000)
    lines = [["server", "MB", "bytes each", "p50 of a request besides, us", "p99, us", "bar, MB"]]
    for name, rows in numbers.items():
        memory = [one["server_bytes"] for one in rows]
        bar = verdict(max(memory) <= MEMORY_BAR, MEMORY_BAR // 1_000_000) if name.startswith("`") else ""
        each = [one["idle_bytes"] / IDLE for one in rows]
        times = [median([one[key] for one in rows], 1) for key in ("p50_us", "p99_us")]
        lines.append([name, median([one / 1e6 for one in memory], 1), median(each), *times, bar])
    print(shown("http-idle", *lines))


end_with_children()
with tempfile.TemporaryDirectory() as place:
    with open(os.path.join(place, "body"), "w") as file:
        file.write(BODY)
    requests(place)
    idle(place)
