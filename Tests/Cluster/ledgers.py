"""Compares what the brokers acknowledged with what the workers have written."""
import collections
import datetime
import json


class Comparison:
    """The difference between two ledgers: both hold the messages as pairs of a worker and a number."""

    def __init__(self, acknowledged, handled):
        counts = collections.Counter(handled)
        self.acknowledged = len(acknowledged)
        self.missing = sorted(set(acknowledged) - set(counts))
        # A message that was not published shows a broken trial, not a broken cluster.
        self.unknown = sorted(set(counts) - set(acknowledged))
        self.duplicates = sum(counts.values()) - len(counts)

    def complaints(self):
        """Returns a line for each way in which the ledgers must not differ."""
        lines = []
        if not self.acknowledged:
            lines.append("no message was acknowledged")
        if self.missing:
            lines.append(f"{len(self.missing)} acknowledged messages are missing, such as {self.missing[:5]}")
        if self.unknown:
            lines.append(f"{len(self.unknown)} messages were handled that were not published, such as {self.unknown[:5]}")
        return lines


class Ledger:
    """The append log of a worker, read as it grows."""

    def __init__(self, worker, path):
        self.worker, self.path = worker, path
        # Of each line: the message, when it was handed to its publisher, and when it arrived, in seconds of the clock.
        self.lines = []
        self.handled = set()
        self.offset = 0

    def read(self):
        """Reads the whole lines that were added."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                text = file.read()
        except FileNotFoundError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self.offset += len(whole)
        lines = [self.line(json.loads(line)) for line in whole.splitlines()]
        self.lines += lines
        self.handled.update(message for message, _, _ in lines)

    def line(self, line):
        body = line["body"]
        return (self.worker, body["n"]), body["at"], seconds(line["receivedAt"])

    def first_after(self, moment, mark):
        """Returns when the first message arrived that was handed over after a moment, or `None`; from the line `mark` on."""
        self.read()
        return next((arrived for _, given, arrived in self.lines[mark:] if given > moment), None)


def repeated(lines):
    """Returns when each message arrived that had arrived before."""
    seen, times = set(), []
    for message, _, arrived in sorted(lines, key=lambda line: line[2]):
        if message in seen:
            times.append(arrived)
        seen.add(message)
    return times


def seconds(text):
    """Returns the time of a line, such as 2026-01-31T12:00:00.250Z, in seconds of the clock."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
