"""Compares MQTT subscribers and publishers on loopback with one mosquitto, and prints medians as Markdown tables.

usage: mqtt_rows.py PROGRAMS PYTHON receive|latency|slow|commit|journal|ways|publish ROUNDS|--quick

PROGRAMS is the folder of the built programs, PYTHON an interpreter with the packages of mqtt_clients.py, or empty. --quick
is one round with a tenth of the messages: a functional check rather than a measurement. The rows of a round run one after
the other, each with a publisher in a separate process. Processor times are those of the measured process, all threads
included, from its first message to its last; those of mosquitto_sub and of the publisher in C cover the whole process,
start-up included.
"""
import operator
import os
import statistics
import tempfile

import mqtt_loads
from mqtt_programs import Broker
from mqtt_tables import (
    C_BATCH, C_LOOP, COMMAND, OURS, PART, PYTHON, RAW, ROUNDS, TYPED, messages, percentiles, program_latency, publish,
)
from payment_messages import MESSAGES, SHAPES, write_messages
from processes import Running, end_with_children
from tables import median, ratio, shown, verdict

# The most that a row may add to the counting loop in Swift for the smallest messages, in nanoseconds.
BAR = 1200
# The times of the typed plugin for the smallest messages, by QoS, as a part of those of the library's loop in C.
GOALS = {0: 0.6, 1: 0.5}
COUNTING, ADAPTER = "Swift, external batch", "MQTTPush, no supervisor"
WITHOUT_DEDUPLICATION = f"{TYPED}, no deduplication"
WITHOUT_NAPS = f"{TYPED}, `coalesce: nil`"
INLINE = f"{TYPED}, inline"
INLINE_WITHOUT_DEDUPLICATION = f"{INLINE}, no deduplication"
# Each a client that calls a function by the action's name, and the last with its own handler for a typed message.
PEERS = {
    "gmqtt and orjson, Python": "gmqtt",
    "paho-mqtt and orjson, Python": "paho",
    "aiomqtt and orjson, Python": "aiomqtt",
    "FastStream, typed handler, Python": "faststream",
}
MESSAGES_OF_ROW, MESSAGES_OF_PEER = 15_000, 3_000


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
        rows |= {name: [PYTHON, script, client] for name, client in PEERS.items()}
    return rows


def processor_time(broker, command, payload, qos):
    """Returns nanoseconds a message."""
    topic, path = f"bench/{payload}", os.path.join(broker.folder, payload)
    if command is None:
        count = messages(MESSAGES_OF_ROW)
        with broker.command(topic, count, qos) as subscriber:
            publish(broker, topic, count, qos, path)
            return subscriber.processor_seconds() * 1e9 / count
    count = messages(MESSAGES_OF_PEER if command[0] == PYTHON else MESSAGES_OF_ROW)
    with Running(*command, broker.port, topic, count, qos) as subscriber:
        subscriber.line()
        publish(broker, topic, count, qos, path)
        return subscriber.numbers()[0]


def receive(broker):
    if not PYTHON:
        print(f"skipped: the rows of {', '.join(PEERS.values())}, which cannot be installed")
    for qos in (1, 0):
        times = {payload: {name: [] for name in receiving_rows()} for payload in MESSAGES}
        for payload, rows in times.items():
            for _ in range(ROUNDS):
                for name, command in receiving_rows().items():
                    rows[name].append(processor_time(broker, command, payload, qos))
        show_receiving(qos, times)
    if broker.dropped():
        raise SystemExit("the broker dropped messages; the rows are invalid")


def show_receiving(qos, times):
    columns = [f"{len(text):,} bytes{SHAPES[payload]}" for payload, text in MESSAGES.items()]
    lines = [["subscriber", *columns, "202 bytes: goal, times C", "202 bytes: ns more than Swift"]]
    for name in receiving_rows():
        cells = [f"{median(rows[name])} ({ratio(rows[name], rows[C_LOOP])})" for rows in times.values()]
        lines.append([name, *cells, goal(qos, name, times["small"]), added(name, times["small"])])
    print(shown(f"mqtt-receive-qos{qos}", *lines))


def goal(qos, name, rows):
    if name not in (TYPED, INLINE):
        return ""
    return verdict(statistics.median(map(operator.truediv, rows[name], rows[C_LOOP])) <= GOALS[qos], GOALS[qos])


def added(name, rows):
    """Returns what a row of the adapter adds to the counting loop, and whether a supervisor may."""
    if not name.startswith("MQTTPush"):
        return ""
    more = statistics.median(map(operator.sub, rows[name], rows[COUNTING]))
    return f"{more:,.0f}" + ("" if name in (ADAPTER, WITHOUT_NAPS) else f" ({verdict(more <= BAR, BAR)})")


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
        C_LOOP: [RAW, "timed"],
        COMMAND: None,
        TYPED: [OURS, "timed"],
        INLINE: [OURS, "timed", "inline=1"],
        WITHOUT_NAPS: [OURS, "timed", "coalescing=0"],
    }
    lines = [["messages a second", "subscriber", "p50", "p99", "p99.9", "processor time a message", "times C"]]
    kept = []
    for rate, seconds in ((1_000, 4), (10_000, 2)):
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
        processor = {name: [round[-1] for round in values] for name, values in results.items()}
        for name, values in results.items():
            cells = [median(column) for column in zip(*values)]
            lines.append([f"{rate:,}", name, *cells, ratio(processor[name], processor[C_LOOP])])
    print(shown("mqtt-latency", *lines))
    print(f"\nThe publisher kept at least {min(kept):.1%} of its rate.")


PARTS = {
    "receive": receive,
    "latency": latency,
    "slow": mqtt_loads.slow,
    "commit": mqtt_loads.commit,
    "journal": mqtt_loads.journal,
    "ways": mqtt_loads.ways,
    "publish": mqtt_loads.publishing,
}


def main():
    end_with_children()
    with tempfile.TemporaryDirectory() as folder:
        write_messages(folder)
        with Broker(folder) as broker:
            PARTS[PART](broker)


main()
