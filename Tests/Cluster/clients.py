"""The clients of a broker: workers that write each message durably, and publishers that report what was acknowledged."""
import json
import os
import re
import subprocess
import threading
import time

from children import Child
from ledgers import Ledger
from waiting import Fault, until

# In seconds: the interval of the pings by which a client finds a broker that is silent, MQTT's `keepalive`.
KEEPALIVE = 5
# In seconds: the most that the messages may take which are handed over as fast as they are taken.
LAST_MESSAGES = 1200
# In seconds: the most between two messages at the end. Those that were not acknowledged are sent again after 10.
QUIET = 40
CONFIGURATION = """
sources:
  push:
    mqtt:
      broker: {urls}
      client_id: {name}
      version: 3.1.1
      session_expiry: 1h
      keepalive: {keepalive}s
      topics: [{{ pattern: 'work/{number}/{{part}}', action: work }}]
plugins:
  - {{ action: work, use: file, path: {path}, from: [push] }}
"""


class Worker(Child):
    """A `signalbox run` with a session and an append log of its own."""

    def __init__(self, program, number, urls, folder):
        self.number, self.name = number, f"worker-{number}"
        path = os.path.join(folder, f"{self.name}.jsonl")
        self.ledger = Ledger(number, path)
        file = os.path.join(folder, f"{self.name}.yaml")
        with open(file, "w") as configuration:
            values = {"urls": json.dumps(urls), "path": json.dumps(path)}
            configuration.write(CONFIGURATION.format(name=self.name, number=number, keepalive=KEEPALIVE, **values))
        super().__init__([program, "run", file], os.path.join(folder, f"{self.name}.log"))

    def wait_until_subscribed(self):
        """Before that, the broker keeps nothing for the worker."""
        until(lambda: self.has_logged("subscribed to 1 topic filter"), f"{self.name} has not subscribed")

    def end(self):
        super().end()
        self.ledger.read()


class Publisher(Child):
    """A `signalbox publish` that gets numbered lines at a rate, each of which the broker acknowledges."""

    def __init__(self, program, number, urls, folder, record):
        self.number, self.name, self.record = number, f"publisher-{number}", record
        # When each message was handed over, in seconds of the clock.
        self.given = {}
        options = ["--v311", "--id", self.name, "--topic", f"work/{number}/x", "--keepalive", f"{KEEPALIVE}s", "--retry", "--lines"]
        command = [program, "publish", *urls, *options, "--log-level", "info"]
        super().__init__(command, os.path.join(folder, f"{self.name}.log"), stdin=subprocess.PIPE)
        self.feeder = None

    def feed(self, rate, least):
        """Begins to hand over messages: at a rate until `finish`, then as fast as they are taken until there are `least`."""
        self.rate, self.least = rate, least
        self.finishing = threading.Event()
        self.feeder = threading.Thread(target=self.write, daemon=True)
        self.feeder.start()

    def write(self):
        try:
            while not self.finishing.wait(1 / self.rate) or len(self.given) < self.least:
                number, at = len(self.given), time.time()
                self.given[(self.number, number)] = at
                self.process.stdin.write(json.dumps({"n": number, "at": at}).encode() + b"\n")
                self.process.stdin.flush()
            self.process.stdin.close()
        except (OSError, ValueError):
            # The process has ended; `acknowledged` says so.
            return

    def finish(self):
        self.finishing.set()

    def acknowledged(self):
        """Waits for the end, and returns the messages that the broker acknowledged. The publisher must have counted the same."""
        until(lambda: not self.runs(), lambda: f"{self.name} does not end:\n{self.end_of_log()}", LAST_MESSAGES)
        self.feeder.join()
        counts = re.search(r"published (\d+), not published (\d+)", self.end_of_log(1))
        numbers = self.record.acknowledged
        if not counts or int(counts[1]) != len(numbers) or sum(map(int, counts.groups())) != len(self.given):
            reason = f"{len(self.given)} messages were handed over and {len(numbers)} acknowledged"
            raise Fault(f"{self.name} reports other numbers: {reason}\n{self.end_of_log()}")
        return {message: at for message, at in self.given.items() if message[1] in numbers}


def wait_for_the_rest(workers, given):
    """Waits until each message is handled, or no message has arrived for a while: then some are missing."""
    lines, latest = 0, time.monotonic()

    def settled():
        nonlocal lines, latest
        before = lines
        for worker in workers:
            worker.ledger.read()
        lines = sum(len(worker.ledger.lines) for worker in workers)
        if lines > before:
            latest = time.monotonic()
        handled = sum(len(worker.ledger.handled) for worker in workers)
        return handled >= len(given) or time.monotonic() - latest > QUIET

    until(settled, "the workers still handle messages", LAST_MESSAGES)
