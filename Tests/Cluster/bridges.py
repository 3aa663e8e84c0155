"""Two brokers of mosquitto with a bridge: a publisher at one, a worker at the other, and restarts of both."""
import contextlib
import os
import signal
import socket
import time

import ports
from children import Child
from clients import Publisher, Worker, wait_for_the_rest
from ledgers import Comparison
from networks import LOOPBACK
from taps import Record, Tap
from waiting import Fault, until

# Each change is saved at once, or only when the broker ends, as with a long interval.
SAVES = {True: "autosave_on_changes true\nautosave_interval 1", False: "autosave_interval 1800"}
BROKER = """
listener {port} {address}
allow_anonymous true
max_queued_messages 0
persistence true
persistence_location {folder}/
{saves}
"""
BRIDGE = """
connection hub
address {address}:{port}
topic work/# out 1
cleansession false
bridge_protocol_version mqttv311
notifications false
restart_timeout 1
"""


class Mosquitto(Child):
    """A broker that keeps its sessions in a file."""

    def __init__(self, name, folder, saves_at_once):
        self.port = ports.free(1)[0]
        self.place = os.path.join(folder, name)
        os.mkdir(self.place)
        self.configuration = BROKER.format(port=self.port, address=LOOPBACK, folder=self.place, saves=SAVES[saves_at_once])
        super().__init__(["mosquitto", "-c", f"{self.place}.conf"], f"{self.place}.log")

    def start(self):
        # As root, mosquitto would become another user, who cannot write here.
        user = "user root\n" if os.geteuid() == 0 else ""
        with open(f"{self.place}.conf", "w") as file:
            file.write(user + self.configuration)
        super().start()
        until(self.accepts, lambda: f"mosquitto does not accept connections:\n{self.end_of_log()}", 30)

    def accepts(self):
        if not self.runs():
            raise Fault(f"mosquitto ended:\n{self.end_of_log()}")
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self.port), 1):
            return True
        return False

    def restart(self, number):
        self.send(number)
        self.process.wait()
        self.start()


def run(program, folder, number, saves_at_once, restarts, messages, rate):
    """Restarts each broker in turn by a signal, and compares the ledgers."""
    os.mkdir(folder)
    with contextlib.ExitStack() as contexts:
        shore, hub = (Mosquitto(name, folder, saves_at_once) for name in ("shore", "hub"))
        shore.configuration += BRIDGE.format(address=LOOPBACK, port=hub.port)
        for broker in (hub, shore):
            contexts.enter_context(broker)
        worker = contexts.enter_context(Worker(program, 1, [f"mqtt://{LOOPBACK}:{hub.port}"], folder))
        worker.wait_until_subscribed()
        record = Record()
        tap = contexts.enter_context(Tap((LOOPBACK, shore.port), record))
        publisher = contexts.enter_context(Publisher(program, 1, [tap.url], folder, record))
        publisher.feed(rate, messages)
        wait_for_service(worker)
        for _ in range(restarts):
            for broker in (shore, hub):
                broker.restart(number)
                wait_for_service(worker)
        publisher.finish()
        given = publisher.acknowledged()
        wait_for_the_rest([worker], given)
        worker.end()
    return Comparison(given, [message for message, _, _ in worker.ledger.lines])


def wait_for_service(worker):
    """Waits for a message that is handed to the publisher from now on."""
    moment, mark = time.time(), len(worker.ledger.lines)
    until(lambda: worker.ledger.first_after(moment, mark), lambda: f"no message comes over the bridge:\n{worker.end_of_log()}")


# What each form does: the signal, whether each change is saved at once, and whether nothing may be lost.
FORMS = (
    ("SIGTERM", signal.SIGTERM, False, True),
    ("SIGKILL, each change saved", signal.SIGKILL, True, False),
    ("SIGKILL, saved every 30 minutes", signal.SIGKILL, False, False),
)


def main(program, folder, form):
    """Runs the trials, prints their table, and returns what must not have happened. The short form checks only what holds."""
    forms, sizes = (FORMS, (10, 3_000, 100)) if form == "long" else (FORMS[:1], (1, 300, 100))
    complaints = []
    rows = ["| both brokers restarted by | times | acknowledged | lost | duplicates |", "|---|---|---|---|---|"]
    for index, (title, number, saves_at_once, must_hold) in enumerate(forms):
        found = run(program, os.path.join(folder, f"bridge-{index}"), number, saves_at_once, *sizes)
        rows.append(f"| {title} | {2 * sizes[0]} | {found.acknowledged} | {len(found.missing)} | {found.duplicates} |")
        if must_hold:
            complaints += [f"bridge, {title}: {line}" for line in found.complaints()]
    print("\n".join(rows), flush=True)
    return complaints
