"""Compares MQTT subscribers and publishers on loopback with one mosquitto, and prints medians as Markdown tables.

usage: mqtt_rows.py PROGRAMS PYTHON receive|latency|slow|commit|ways|publish ROUNDS|--quick

PROGRAMS is the folder of the built programs, PYTHON an interpreter with the packages of mqtt_clients.py, or empty. --quick
is one round with a tenth of the messages: a functional check rather than a measurement. The rows of a round run one after
the other, each with a publisher in a separate process. Processor times are those of the measured process, all threads
included, from its first message to its last; those of mosquitto_sub and of the publisher in C cover the whole process,
start-up included.
"""
import operator
import os
import signal
import statistics
import sys
import tempfile

import mqtt_loads
from mqtt_programs import LOOPBACK, Broker, Running
from mqtt_tables import (
    C_BATCH, C_LOOP, COMMAND, OURS, PART, PYTHON, RAW, ROUNDS, TYPED, median, messages, percentiles, program_latency, publish,
    ratio, table,
)
from payment_messages import MESSAGES, write_messages

BAR = 1200
# The times of the typed plugin for the smallest messages, by QoS, as a part of those of the library's loop in C.
GOALS = {0: 0.6, 1: 0.5}
SHAPES = {"small": "", "one-string": ", one string", "sixty-members": ", 60 members"}
COUNTING, ADAPTER = "Swift, external batch, counts", "MQTTPush, no supervisor"
WITHOUT_DEDUPLICATION = f"{TYPED}, `deduplication: .never`"
WITHOUT_NAPS = f"{TYPED}, `coalesce: nil`"
INLINE = f"{TYPED}, `runsInline: true`"
INLINE_WITHOUT_DEDUPLICATION = f"{INLINE}, `deduplication: .never`"


# Processor time


def receiving_rows():
    rows = {
        C_BATCH: [RAW, "batch"],
        C_LOOP: [RAW, "loop"],
        COMMAND: None,
        COUNTING: [OURS, "count"],
        ADAPTER: [OURS, "adapter"],
        TYPED: [OURS, "typed"],
        WITHOUT_DEDUPLICATION: [OURS, "typed", "deduplication=never"],
        INLINE: [OURS, "typed", "inline=1"],
        INLINE_WITHOUT_DEDUPLICATION: [OURS, "typed", "inline=1", "deduplication=never"],
        WITHOUT_NAPS: [OURS, "typed", "coalescing=0"],
    }
    if PYTHON:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mqtt_clients.py")
        rows["gmqtt 0.8.0 and orjson, Python"] = [PYTHON, script, "gmqtt"]
        rows["paho-mqtt 2.2.0 and orjson, Python"] = [PYTHON, script, "paho"]
        rows["aiomqtt 2.5.1 and orjson, Python"] = [PYTHON, script, "aiomqtt"]
    return rows


def processor_time(broker, command, payload, qos):
    """Returns nanoseconds a message."""
    topic, path = f"bench/{payload}", os.path.join(broker.folder, payload)
    if command is None:
        count = messages(50_000)
        with broker.command(topic, count, qos) as subscriber:
            publish(broker, topic, count, qos, path)
            return subscriber.processor_seconds() * 1e9 / count
    count = messages(10_000 if command[0] == PYTHON else 50_000)
    with Running(*command, broker.port, topic, count, qos) as subscriber:
        subscriber.line()
        publish(broker, topic, count, qos, path)
        return subscriber.numbers()[0]


def receive(broker):
    for qos in (0, 1):
        times = {payload: {name: [] for name in receiving_rows()} for payload in MESSAGES}
        for payload, rows in times.items():
            for _ in range(ROUNDS):
                for name, command in receiving_rows().items():
                    rows[name].append(processor_time(broker, command, payload, qos))
        show_receiving(qos, times)
    if broker.dropped():
        raise SystemExit("the broker dropped messages; the rows are invalid")
    print("\nThe broker dropped no message; every row covers all published messages.")


def show_receiving(qos, times):
    title = f"QoS {qos}, ns of processor time a message (times {C_LOOP!r}, {COUNTING!r}), {messages(50_000):,} messages"
    columns = [f"{len(text):,} bytes{SHAPES[payload]}" for payload, text in MESSAGES.items()]
    cells = {
        name: [
            f"{median(rows[name])} ({ratio(rows[name], rows[C_LOOP])}, {ratio(rows[name], rows[COUNTING])})"
            for rows in times.values()
        ]
        for name in receiving_rows()
    }
    table(title, ["subscriber", *columns], *[[name, *row] for name, row in cells.items()])
    small = times["small"]
    print()
    for name in (TYPED, INLINE):
        part = float(ratio(small[name], small[C_LOOP]))
        verdict = "met" if part <= GOALS[qos] else "missed"
        print(f"- {name} takes {part:.2f} times {C_LOOP!r} (goal {GOALS[qos]}: {verdict})")
    for name in (ADAPTER, TYPED, WITHOUT_DEDUPLICATION):
        added = [statistics.median(map(operator.sub, rows[name], rows[COUNTING])) for rows in times.values()]
        verdict = "" if name == ADAPTER else f" (bar for the first {BAR:,}: {'met' if added[0] <= BAR else 'missed'})"
        print(f"- {name} adds to {COUNTING!r}, ns: {', '.join(f'{one:,.0f}' for one in added)}{verdict}")


# Latency


def command_latency(broker, count, rate):
    """Returns the same as `program_latency`, up to the time that mosquitto_sub itself writes before each payload."""
    path = os.path.join(broker.folder, "lines")
    with open(path, "w") as file, broker.command("bench/paced", count, 1, "-F", "%U %p", output=file) as subscriber:
        seconds = publish(broker, "bench/paced", count, 1, f"{rate}/s")
        processor = subscriber.processor_seconds() * 1e6 / count
    with open(path) as file:
        return [*percentiles([command_line_latency(line) for line in file]), processor], count / seconds


def command_line_latency(line):
    received, payload = line.split(" ", 1)
    whole, fraction = received.split(".")
    published = payload.split('"transactionId":"', 1)[1].split('"', 1)[0]
    return int(whole) * 10**9 + int(fraction) - int(published)


def latency(broker):
    rows = {
        "C, the library's loop": [RAW, "timed"],
        COMMAND: None,
        TYPED: [OURS, "timed"],
        INLINE: [OURS, "timed", "inline=1"],
        WITHOUT_NAPS: [OURS, "timed", "coalescing=0"],
    }
    shown, kept = [], []
    for rate, seconds in ((1_000, 10), (10_000, 5)):
        count = messages(rate * seconds)
        results = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, command in rows.items():
                if command:
                    values, reached = program_latency(broker, command, count, rate)
                else:
                    values, reached = command_latency(broker, count, rate)
                results[name].append(values)
                kept.append(reached / rate)
        for name, values in results.items():
            shown.append([f"{rate:,}", name, *[median(column) for column in zip(*values)]])
    columns = ["messages a second", "subscriber", "p50", "p99", "p99.9", "processor time a message"]
    table("us from publish to subscriber, QoS 1, TCP", columns, *shown)
    print(f"\nThe publisher kept at least {min(kept):.1%} of its rate.")


PARTS = {
    "receive": receive,
    "latency": latency,
    "slow": mqtt_loads.slow,
    "commit": mqtt_loads.commit,
    "ways": mqtt_loads.ways,
    "publish": mqtt_loads.publishing,
}


def main():
    # Exits through the context managers, which end the child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        write_messages(folder)
        with Broker(folder) as broker:
            print(f"\nMQTT, {PART}, on {LOOPBACK}: medians of {ROUNDS} {'round' if ROUNDS == 1 else 'rounds'}")
            PARTS[PART](broker)
    print(f"\nThe machine's load was {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end.")


main()
