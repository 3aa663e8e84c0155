"""A trial of the cluster: workers, publishers and faults, and the comparison of the ledgers at the end."""
import contextlib

from clients import Publisher, Worker, wait_for_the_rest
from faults import Faults, middle_and_most
from ledgers import Comparison, repeated
from nodes import Cluster
from taps import Record, Tap

PAIRS = (1, 2, 3)


class Trial:
    """Three workers with a publisher each; every message of a publisher is for its worker."""

    def __init__(self, program, network, folder, replicas=3):
        self.program, self.folder = program, folder
        self.cluster = Cluster(network, folder, replicas)
        self.records = {number: Record() for number in PAIRS}

    def run(self, kinds, messages, rate):
        """Injects the faults, and returns them with the comparison and all lines of the workers."""
        with contextlib.ExitStack() as contexts:
            contexts.enter_context(self.cluster)
            workers, publishers = self.clients(contexts)
            for publisher in publishers:
                publisher.feed(rate / len(PAIRS), -(-messages // len(PAIRS)))
            faults = Faults(self.cluster, workers, publishers)
            for kind in kinds:
                faults.inject(kind)
            for publisher in publishers:
                publisher.finish()
            given = {}
            for publisher in publishers:
                given.update(publisher.acknowledged())
            wait_for_the_rest(workers, given)
            for worker in workers:
                worker.end()
        return Result(faults.injected, given, self.records, [line for worker in workers for line in worker.ledger.lines])

    def clients(self, contexts):
        """Starts the clients. Each publisher begins at another node than its worker."""
        workers = []
        for number in PAIRS:
            urls = self.taps(contexts, number, number)
            workers.append(contexts.enter_context(Worker(self.program, number, urls, self.folder)))
            # One after the other, because the first connection creates the streams.
            workers[-1].wait_until_subscribed()
        publishers = []
        for number in PAIRS:
            urls = self.taps(contexts, number, number + 1)
            publisher = Publisher(self.program, number, urls, self.folder, self.records[number])
            publishers.append(contexts.enter_context(publisher))
        return workers, publishers

    def taps(self, contexts, number, first):
        """Returns addresses that lead to the nodes, for a client of a pair whose connections are recorded."""
        return [contexts.enter_context(Tap(node.target, self.records[number])).url for node in self.cluster.in_turn(first)]


class Result:
    """What a trial has shown."""

    def __init__(self, injected, given, records, lines):
        self.injected, self.given, self.records = injected, given, records
        self.comparison = Comparison(given, [message for message, _, _ in lines])
        self.repeated = repeated(lines)

    def kind_at(self, moment):
        """Returns the kind of the latest fault before the moment."""
        return next((fault.kind for fault in reversed(self.injected) if fault.began <= moment), None)

    def missing(self):
        """Returns a line for each missing message: the fault, and the seconds from then on at which the wire had what."""
        lines = []
        for message in self.comparison.missing[:20]:
            fault = next((fault for fault in reversed(self.injected) if fault.began <= self.given[message]), None)
            record, began = self.records[message[0]], fault.began if fault else 0
            parts = (record.sent, record.acknowledged, record.delivered)
            times = [[round(at - began, 3) for at in part.get(message[1], [])] for part in parts]
            kind = fault.kind if fault else "no fault"
            lines.append("{}: {}; sent at {}, acknowledged at {}, delivered at {}".format(message, kind, *times))
        return lines

    def delivered_and_missing(self):
        return [each for each in self.comparison.missing if each[1] in self.records[each[0]].delivered]

    def table(self):
        """Returns the rows of docs/broker-clusters.md."""
        rows = [
            "| fault | times | its clients have service after, p50 / max | the other clients | lost | duplicates |",
            "|---|---|---|---|---|---|",
        ]
        lost = [self.kind_at(self.given[message]) for message in self.comparison.missing]
        duplicates = [self.kind_at(moment) for moment in self.repeated]
        for kind in dict.fromkeys(fault.kind for fault in self.injected):
            faults = [fault for fault in self.injected if fault.kind == kind]
            times = [[each for fault in faults for each in fault.times(affected)] for affected in (True, False)]
            cells = [kind, len(faults), *(middle_and_most(each) for each in times), lost.count(kind), duplicates.count(kind)]
            rows.append("| " + " | ".join(str(cell) for cell in cells) + " |")
        return "\n".join(rows)
