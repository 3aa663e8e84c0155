"""The parts of mqtt_rows.py with special loads: a plugin that commits, a journal, a plugin that is sometimes slow, TLS and shared
subscriptions, and publishing."""
import contextlib
import os
import signal
import statistics
import tempfile
import time

from mqtt_tables import C_LOOP, OURS, PUBLISHER, RAW, ROUNDS, TYPED, messages, program_latency, publish
from processes import Running
from tables import median, ratio, shown, verdict

# The least that a journal may leave of the messages a second.
JOURNAL_GOAL = 0.5


@contextlib.contextmanager
def with_queue(broker, command, count):
    """A subscriber of messages that are all queued at the broker first, so that the publisher is not the limit."""
    with Running(*command, broker.port, "bench/small", count, 1) as subscriber:
        subscriber.line()
        subscriber.process.send_signal(signal.SIGSTOP)
        publish(broker, "bench/small", count, 1, os.path.join(broker.folder, "small"))
        subscriber.process.send_signal(signal.SIGCONT)
        yield subscriber


# A plugin that commits


def commit_run(broker, command, window, count):
    """Returns messages a second and a batch."""
    with with_queue(broker, [*command, f"window={window}"], count) as subscriber:
        wall = subscriber.numbers()[1]
        return 1e9 / wall, count / subscriber.numbers()[0]


def commit(broker):
    rows = {"C": [RAW, "commit"], "MQTTPush": [OURS, "commit"]}
    lines = [["receive maximum", "C, external batch", "MQTTPush, `BatchPlugin`", "times C"]]
    for window, count in {1: 2_000, 20: 20_000, 100: 40_000, 500: 40_000}.items():
        results = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, command in rows.items():
                results[name].append(commit_run(broker, command, window, messages(count)))
        rates = {name: [rate for rate, _ in runs] for name, runs in results.items()}
        cells = [f"{median(rates[name])} ({median([size for _, size in runs])})" for name, runs in results.items()]
        lines.append([f"{window}", *cells, ratio(rates["MQTTPush"], rates["C"])])
    print(shown("mqtt-commit", *lines))


# A journal


def journal_run(broker, command, folder, count):
    """Returns messages a second and nanoseconds of processor time a message, with a journal if there is a folder for it."""
    options = [f"journal={folder}/store.db"] if folder else []
    with with_queue(broker, [*command, *options], count) as subscriber:
        processor, wall = subscriber.numbers()
        return 1e9 / wall, processor


def journal(broker):
    rows = {
        "returns at once": [OURS, "typed"],
        "takes 1 ms a batch; receive maximum 20": [OURS, "commit", "window=20"],
    }
    results = {name: {False: [], True: []} for name in rows}
    for _ in range(ROUNDS):
        for name, command in rows.items():
            results[name][False].append(journal_run(broker, command, None, messages(40_000)))
            # The folder of temporary files may be in memory, where nothing is synced.
            with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                results[name][True].append(journal_run(broker, command, folder, messages(40_000)))
    lines = [["plugin", *(f"{way} journal: {what}" for way in ("no", "with") for what in ("messages a second", "ns"))]]
    lines[0] += ["times the messages a second: goal", "times the ns"]
    for name, runs in results.items():
        (without, with_rate), (base, processor) = zip(*(zip(*runs[has_journal]) for has_journal in (False, True)))
        share = statistics.median(one / other for one, other in zip(with_rate, without))
        cells = [median(column) for column in (without, base, with_rate, processor)]
        goal = f"{ratio(with_rate, without)} ({verdict(share >= JOURNAL_GOAL, JOURNAL_GOAL)})"
        lines.append([name, *cells, goal, ratio(processor, base)])
    print(shown("mqtt-journal", *lines))
    if broker.dropped():
        raise SystemExit("the broker dropped messages; the rows are invalid")


# A plugin that is sometimes slow


def slow_rate(broker, command, count):
    """Returns messages a second, if the publisher is not the limit."""
    with Running(*command, broker.port, "bench/small", count, 1) as subscriber:
        subscriber.line()
        publish(broker, "bench/small", count, 1, os.path.join(broker.folder, "small"))
        return 1e9 / subscriber.numbers()[1]


def slow(broker):
    rate, count = 5_000, messages(20_000)
    rows = {"C, external batch, sleeps": [RAW, "slow"], TYPED: [OURS, "slow"]}
    results = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, command in rows.items():
            values, _ = program_latency(broker, command, count // 2, rate)
            results[name].append([slow_rate(broker, command, count), *values])
    lines = [["subscriber", "messages a second", "p50", "p99", "p99.9", "processor time a message"]]
    lines += [[name, *[median(column) for column in zip(*values)]] for name, values in results.items()]
    print(shown("mqtt-slow", *lines))


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
    count, members = messages(30_000), max(1, way.members)
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
    lines = [["subscriber", "ns", "times itself, alone over TCP", "times C, the same way"]]
    for name, values in times.items():
        alone = times[C_LOOP if rows[name].command[0] == RAW else TYPED]
        other = times.get(name.replace(TYPED, C_LOOP), times[C_LOOP])
        lines.append([name, median(values), ratio(values, alone), ratio(values, other)])
    print(shown("mqtt-ways", *lines))


# Publishing


def publish_run(broker, options, count, qos):
    """Returns nanoseconds of processor time a message, and messages a second."""
    if options is None:
        began = time.monotonic()
        with Running(PUBLISHER, broker.port, "bench/sent", count, qos, os.path.join(broker.folder, "small")) as publisher:
            processor = publisher.processor_seconds()
        return processor * 1e9 / count, count / (time.monotonic() - began)
    with Running(OURS, "publish", *options, broker.port, "bench/sent", count, qos) as publisher:
        processor, wall = publisher.numbers()
        return processor, 1e9 / wall


def publishing(broker):
    count = messages(10_000)
    rows = {"C, the library's thread": None}
    rows |= {f"MQTTPush, `publish`, {text}": [f"tasks={tasks}"] for tasks, text in ((1, "1 task"), (100, "100 tasks"))}
    results = {name: {0: [], 1: []} for name in rows}
    for _ in range(ROUNDS):
        for name, options in rows.items():
            for qos, runs in results[name].items():
                runs.append(publish_run(broker, options, count, qos))
    columns = [f"QoS {qos}: {what}" for qos in (0, 1) for what in ("ns", "messages a second", "times C's ns")]
    lines = [["publisher", *columns]]
    for name, by_qos in results.items():
        lines.append([name])
        for qos, runs in by_qos.items():
            processor, rates = zip(*runs)
            base = [time for time, _ in results["C, the library's thread"][qos]]
            lines[-1] += [median(processor), median(rates), ratio(processor, base)]
    print(shown("mqtt-publish", *lines))
