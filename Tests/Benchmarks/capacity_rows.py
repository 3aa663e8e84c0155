"""Measures what `signalbox run` takes for 1, 10 and 100 sources and plugins and for many connections, on loopback, prints the tables,
and computes a worked example from them.

usage: capacity_rows.py PROGRAMS ROUNDS|--quick

PROGRAMS is the folder of the clients in C. The environment variable CAPACITY_PROGRAM names the program; without it, it is that of
packaging/build. --quick is one round with a tenth of the messages: a functional check rather than a measurement. Messages are counted
by the program itself, which is asked through its control socket; so is its processor time, all threads included.
"""
import os
import statistics
import tempfile
import time

import capacity_configurations as configurations
import capacity_connections as connections
import capacity_loads as loads
import capacity_sizing as sizing
from capacity_program import Program
from capacity_sizing import Cost, kib, mib
from capacity_tables import BACKLOG, IDLE_SECONDS, IS_QUICK, PROGRAM, ROUNDS, SIZES, client, cost, many, messages, running
from mqtt_programs import Broker, free_port
from payment_messages import BODY
from processes import end_with_children
from tables import marked, median, ratio, shown

# Brokers' sources


def backlog(folder, broker, sources, plugins, has_ids=False):
    """Returns the cost of the idle program, the most KiB under load, and the rate and times of a backlog of all sources."""
    count = messages(BACKLOG[sources])
    path = loads.write_lines(folder, count, plugins, has_ids)
    with running(folder, many(configurations.mqtt(broker.port), sources), plugins) as program:
        idle = cost(program)
        numbers = loads.flood(program, broker, path, count * sources)
        return idle, program.system("VmHWM"), numbers


def mqtt(folder, broker):
    """Prints the table, and returns the idle costs and the KiB that the backlog adds, both by sources and plugins."""
    runs = {(sources, plugins): [] for sources in SIZES for plugins in SIZES}
    for _ in range(ROUNDS):
        for row, results in runs.items():
            results.append(backlog(folder, broker, *row))
    columns = ["messages a second", "times 1 and 1", "us a message", "us of the broker", "MiB idle", "MiB with a backlog"]
    lines = [["sources", "plugins", *columns]]
    rates = {row: [numbers[0] for *_, numbers in results] for row, results in runs.items()}
    for row, results in runs.items():
        idle, most, numbers = zip(*results)
        ours, theirs = [median([one[index] for one in numbers], 1) for index in (1, 2)]
        memory = [median([one.memory / 1024 for one in idle], 1), median([one / 1024 for one in most], 1)]
        cells = [median(rates[row]), ratio(rates[row], rates[1, 1]), ours, theirs, *memory]
        lines.append([*map(str, row), *cells])
    print(shown("capacity-mqtt", *lines))
    added = {row: statistics.median(most - idle.memory for idle, most, _ in results) for row, results in runs.items()}
    return {row: sizing.middle([idle for idle, *_ in results]) for row, results in runs.items()}, added


def rates(folder, broker):
    """Prints the table of messages that come one by one, and returns the microseconds of each row by the rate."""
    lines, found = [["messages a second of each source", "of all", "us a message"]], {}
    for per_second in (10, 100, 1_000):
        count, runs = messages(per_second * 3), []
        path = loads.write_lines(folder, count, 10)
        with running(folder, many(configurations.mqtt(broker.port), 10), 10) as program:
            for _ in range(ROUNDS):
                runs.append(loads.paced(program, broker, path, count * 10, f"{1_000 // per_second}ms"))
        measured, found[per_second] = zip(*runs)
        lines.append([f"{per_second:,}", median(measured), median(found[per_second], 1)])
    print(shown("capacity-rates", *lines))
    return found


# Kinds of source


def idle_processor(program):
    """Returns the milliseconds of processor time that a program without messages takes a second."""
    before = program.sample()
    time.sleep(IDLE_SECONDS)
    after = program.sample()
    return (after.processor - before.processor) * 1e3 / (after.at - before.at)


def kinds(folder, broker, server):
    """Prints the table of idle sources and plugins, and returns the cost of one more by kind."""
    rows = {
        "MQTT source": configurations.mqtt(broker.port),
        "feed": configurations.feed(server),
        "chat with a port": configurations.chat(),
        "chat of a listener": configurations.chat_of_listener,
        "source of HTTP requests, of a listener": configurations.requests,
        "plugin": None,
    }
    lines, found = [["kind", *(f"MiB with {size}" for size in SIZES), "KiB each", "threads each", "descriptors each"]], {}
    lines[0].append(f"ms of processor time a second, {SIZES[-1]} idle")
    for name, source in sorted(rows.items()):
        costs = []
        for size in SIZES:
            sources, plugins = (many(source, size), 1) if source else ([configurations.requests(0)], size)
            with running(folder, sources, plugins) as program:
                costs.append(cost(program))
                idle = idle_processor(program) if size == SIZES[-1] else 0
        found[name] = sizing.each(costs[0], costs[-1], SIZES[-1] - SIZES[0])
        cells = [*(f"{value:.2f}" for value in found[name][1:]), f"{idle:.1f}"]
        lines.append([name, *(mib(one.memory) for one in costs), kib(found[name].memory), *cells])
    print(shown("capacity-idle", *lines))
    return found


def ids(folder, broker):
    """Prints the table of remembered ids."""
    without, with_ids = [backlog(folder, broker, 10, 1, has_ids)[1] for has_ids in (False, True)]
    count = min(messages(BACKLOG[10]), 10_000) * 10
    each = max(0, with_ids - without) * 1024 / count
    lines = [["messages", "MiB without ids", "MiB with ids", "bytes a remembered id"]]
    lines.append([f"{messages(BACKLOG[10]) * 10:,}", mib(without), mib(with_ids), f"{each:,.0f}"])
    print(shown("capacity-ids", *lines))


# The worked example


def example(folder, broker, costs, microseconds):
    """Prints the arithmetic for the example beside the same program, measured."""
    need, port = sizing.EXAMPLE, free_port()
    sources = [*many(configurations.mqtt(broker.port), need.sources), configurations.chat(port, 5_000)(0)]
    published = need.messages // need.sources
    count = published * (1 if IS_QUICK else 5)
    path = loads.write_lines(folder, count, need.plugins)
    with running(folder, sources, need.plugins) as program:
        with loads.connected(folder, client("RawWebSocketSender"), port, need.connections, need.connections):
            program.samples(need.connections)
            idle = cost(program)
            measured, used = loads.paced(program, broker, path, count * need.sources, f"{1_000 // published}ms")
            loads.flood(program, broker, path, count * need.sources)
            most = program.system("VmHWM")
    print(shown("capacity-example", *sizing.example_rows(sizing.needed(costs, need), idle)))
    print(shown("capacity-load", *sizing.load_rows(need, costs, microseconds, (measured, used), most)))


def main(folder):
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit(f"there is no program {PROGRAM}: packaging/build makes it, and CAPACITY_PROGRAM names another")
    for name, text in {"body": BODY, "message": '{"action":"payment0","body":%s}' % BODY}.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    with open(os.path.join(folder, "asked"), "w") as file:
        file.write('{"action":"payment0","id":"1","body":%s}' % BODY)
    print(marked("capacity-machine", ""))
    with Broker(folder) as broker, tempfile.TemporaryDirectory() as other:
        idle, added = mqtt(folder, broker)
        found = rates(folder, broker)
        port = free_port()
        with Program(PROGRAM, other, configurations.configuration([configurations.chat(port)(0)], 1)):
            kind = kinds(folder, broker, port)
        ids(folder, broker)
        each = connections.chats(folder)
        connections.requests(folder)
        costs = sizing.costs(idle, added, SIZES)
        costs |= {"chat": kind["chat with a port"], "connection": Cost(each, 0, 1)}
        example(folder, broker, costs, statistics.median(found[100]))


end_with_children()
with tempfile.TemporaryDirectory() as place:
    main(place)
