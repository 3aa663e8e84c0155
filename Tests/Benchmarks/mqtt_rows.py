"""Compares MQTT subscribers on loopback with one mosquitto, and prints medians as Markdown tables.

usage: mqtt_rows.py PROGRAMS PYTHON receive|latency|commit|ways ROUNDS|--quick

PROGRAMS is the folder of the built programs, PYTHON an interpreter with the packages of mqtt_clients.py, or empty. --quick
is one round with a tenth of the messages: a functional check rather than a measurement. The rows of a round run one after
the other, each with a publisher in a separate process. Processor times are those of the subscribing process, all threads
included, from its first message to its last; those of mosquitto_sub cover the whole process, start-up included.
"""
import contextlib
import operator
import os
import signal
import statistics
import subprocess
import sys
import tempfile

from mqtt_programs import LOOPBACK, SECONDS, Broker, Running
from payment_messages import MESSAGES, write_messages

PROGRAMS, PYTHON, PART = sys.argv[1:4]
IS_QUICK = sys.argv[4] == "--quick"
ROUNDS = 1 if IS_QUICK else int(sys.argv[4])
BAR = 1200
SHAPES = {"small": "", "one-string": ", one string", "sixty-members": ", 60 members"}
COUNTING = "Swift, external batch, counts"
ADAPTER, TYPED = "MQTTPush, no supervisor", "MQTTPush, supervisor, typed plugin"
WITHOUT_DEDUPLICATION = f"{TYPED}, `deduplication: .never`"
C_BATCH, C_LOOP, COMMAND = "C, external batch, counts", "C, the library's loop, counts", "mosquitto_sub"


def program(name):
    return os.path.join(PROGRAMS, name)


OURS, RAW = program("ReceiveBenchmark"), program("RawSubscriber")


def messages(count):
    return count // 10 if IS_QUICK else count


def publish(broker, topic, count, qos, what):
    """Publishes a file as fast as possible, or at a rate, in which case it returns the duration in seconds."""
    command = [program("RawPublisher"), broker.port, topic, count, qos, what]
    done = subprocess.run([str(part) for part in command], check=True, timeout=SECONDS, capture_output=True, text=True)
    return float(done.stdout) if done.stdout else None


def median(values, digits=0):
    return f"{statistics.median(values):,.{digits}f}"


def ratio(ours, others):
    return median([one / other for one, other in zip(ours, others)], 2)


def table(title, *rows):
    print(f"\n{title}\n")
    for index, cells in enumerate(rows):
        print("| " + " | ".join(cells) + " |", flush=True)
        if index == 0:
            print("|" + "---|" * len(cells))


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
    title = f"QoS {qos}, ns of processor time a message (times {COUNTING!r}), {messages(50_000):,} messages"
    columns = [f"{len(text):,} bytes{SHAPES[payload]}" for payload, text in MESSAGES.items()]
    cells = {
        name: [f"{median(rows[name])} ({ratio(rows[name], rows[COUNTING])})" for rows in times.values()]
        for name in receiving_rows()
    }
    table(title, ["subscriber", *columns], *[[name, *row] for name, row in cells.items()])
    print()
    for name in (ADAPTER, TYPED, WITHOUT_DEDUPLICATION):
        added = [statistics.median(map(operator.sub, rows[name], rows[COUNTING])) for rows in times.values()]
        verdict = "" if name == ADAPTER else f" (bar for the first {BAR:,}: {'met' if added[0] <= BAR else 'missed'})"
        print(f"- {name} adds to {COUNTING!r}, ns: {', '.join(f'{one:,.0f}' for one in added)}{verdict}")


# Latency


def percentiles(latencies):
    """Returns p50, p99 and p99.9 of nanoseconds, in microseconds."""
    ordered = sorted(latencies)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1e3 for part in (0.5, 0.99, 0.999)]


# The next two functions return percentiles and processor time, in microseconds, and the rate.
def program_latency(broker, command, count, rate):
    with Running(*command, broker.port, "bench/paced", count, 1) as subscriber:
        subscriber.line()
        seconds = publish(broker, "bench/paced", count, 1, f"{rate}/s")
        processor = subscriber.numbers()[0] / 1e3
        return [*percentiles(subscriber.rest()), processor], count / seconds


def command_latency(broker, count, rate):
    """Measures to the time that mosquitto_sub itself writes before each payload."""
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
    rows = {"C, the library's loop": [RAW, "timed"], COMMAND: None, TYPED: [OURS, "timed"]}
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


# A plugin that commits


def commit_run(broker, command, batch, count):
    """Returns messages a second and a batch. All are queued at the broker first, so that the publisher is not the limit."""
    with Running(*command, f"batch={batch}", broker.port, "bench/small", count, 1) as subscriber:
        subscriber.line()
        subscriber.process.send_signal(signal.SIGSTOP)
        publish(broker, "bench/small", count, 1, os.path.join(broker.folder, "small"))
        subscriber.process.send_signal(signal.SIGCONT)
        wall = subscriber.numbers()[1]
        return 1e9 / wall, count / subscriber.numbers()[0]


def commit(broker):
    rows = {"C": [RAW, "commit"], "MQTTPush": [OURS, "commit"]}
    shown = []
    for batch, count in {1: 3_000, 20: 40_000, 100: 60_000, 500: 60_000}.items():
        results = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, command in rows.items():
                results[name].append(commit_run(broker, command, batch, messages(count)))
        rates = {name: [rate for rate, _ in runs] for name, runs in results.items()}
        cells = [f"{median(rates[name])} ({median([size for _, size in runs])})" for name, runs in results.items()]
        shown.append([f"{batch}", *cells, ratio(rates["MQTTPush"], rates["C"])])
    title = "Messages a second (messages a commit) when each batch is committed for 1 ms, QoS 1, 202 bytes"
    columns = ["messages of a batch at most", "C, external batch", "MQTTPush, supervisor, `BatchPlugin`", "times C"]
    table(title, columns, *shown)


# TLS and shared subscriptions


class Way:
    def __init__(self, command, is_secure=False, members=0):
        self.command, self.is_secure, self.members = command, is_secure, members


def way_rows():
    loop, typed = [RAW, "loop"], [OURS, "typed"]
    return {
        C_LOOP: Way(loop),
        f"{C_LOOP}, TLS": Way(loop, is_secure=True),
        f"{C_LOOP}, `$share`, 3 processes": Way(loop, members=3),
        TYPED: Way(typed),
        f"{TYPED}, TLS": Way(typed, is_secure=True),
        f"{TYPED}, `$share`, 1 process": Way(typed, members=1),
        f"{TYPED}, `$share`, 3 processes": Way(typed, members=3),
    }


def way_time(broker, way, number):
    """Returns processor time a message for all subscribers, in nanoseconds. The broker distributes evenly within a group."""
    count, members = messages(60_000), max(1, way.members)
    topic = f"$share/group-{number}/bench/small" if way.members else "bench/small"
    port, more = (broker.tls_port, [f"ca={broker.authority}"]) if way.is_secure else (broker.port, [])
    with contextlib.ExitStack() as stack:
        command = [*way.command, *more, port, topic, count // members, 1]
        subscribers = [stack.enter_context(Running(*command)) for _ in range(members)]
        for subscriber in subscribers:
            subscriber.line()
        publish(broker, "bench/small", count, 1, os.path.join(broker.folder, "small"))
        return statistics.mean(subscriber.numbers()[0] for subscriber in subscribers)


def ways(broker):
    rows = way_rows()
    times = {name: [] for name in rows}
    for number in range(ROUNDS):
        for name, way in rows.items():
            times[name].append(way_time(broker, way, f"{number}-{way.members}"))
    shown = [
        [name, median(values), ratio(values, times[C_LOOP if way.command[0] == RAW else TYPED])]
        for (name, way), values in zip(rows.items(), times.values())
    ]
    title = f"QoS 1, 202 bytes, ns of processor time a message, {messages(60_000):,} messages"
    table(title, ["subscriber", "ns", "times itself, alone over TCP"], *shown)


def main():
    # Exits through the context managers, which end the child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        write_messages(folder)
        with Broker(folder) as broker:
            print(f"\nMQTT, {PART}, on {LOOPBACK}: medians of {ROUNDS} {'round' if ROUNDS == 1 else 'rounds'}")
            {"receive": receive, "latency": latency, "commit": commit, "ways": ways}[PART](broker)
    print(f"\nThe machine's load was {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end.")


main()
