"""The faults of a trial, and how long the clients of each are without service."""
import itertools
import statistics
import time

from waiting import until

KILLED_NODE = "node killed (SIGKILL) and started again"
STOPPED_NODE = "node stopped (SIGSTOP) and resumed"
CUT_NODE = "node cut off by the network, and joined again"
# Clients stay connected to such a node, so their time without service begins when it is joined again.
DIVIDED_NODE = "node cut off from the other nodes only for 15 s; the time is from the end on"
KILLED_WORKER = "worker killed (SIGKILL) and started again"
# In seconds. A node without the others notices that after about 10.
DIVISION = 15


class Injected:
    """A fault, and after how many seconds each pair of a publisher and a worker had service again."""

    def __init__(self, kind, began, affected):
        self.kind, self.began = kind, began
        self.affected = affected
        self.seconds = {}

    def times(self, affected):
        return [each for number, each in self.seconds.items() if (number in self.affected) == affected]


class Faults:
    """Injects one fault after the other. The next one begins when every pair and every node has recovered."""

    def __init__(self, cluster, workers, publishers):
        self.cluster, self.workers, self.publishers = cluster, workers, publishers
        self.injected = []
        self.nodes = itertools.cycle(cluster.nodes.values())
        self.victims = itertools.cycle(workers)

    def inject(self, kind):
        if kind == KILLED_WORKER:
            worker = next(self.victims)
            self.observe(kind, {worker.number}, worker.kill, worker.start, nothing)
            return
        node = self.node_with_clients()
        network = self.cluster.network
        if kind == DIVIDED_NODE:
            self.observe(kind, self.pairs_at(node), lambda: self.divide(network, node), nothing, nothing)
            return
        begin, end = {
            KILLED_NODE: (node.kill, node.start),
            STOPPED_NODE: (node.stop, node.resume),
            CUT_NODE: (lambda: network.cut(node.number), lambda: network.mend(node.number)),
        }[kind]
        self.observe(kind, self.pairs_at(node), begin, nothing, end)

    def divide(self, network, node):
        """Cuts a node off from the others for a while."""
        network.cut_from_peers(node.number)
        time.sleep(DIVISION)
        network.mend_to_peers(node.number)

    def node_with_clients(self):
        """Returns the next node in turn to which a client is connected."""
        return until(lambda: next((node for node in itertools.islice(self.nodes, 3) if self.pairs_at(node)), None), "no node has a client")

    def pairs_at(self, node):
        """Returns the pairs of which the worker or the publisher is connected to the node."""
        clients = node.clients()
        return {each.number for each in [*self.workers, *self.publishers] if each.name in clients}

    def observe(self, kind, affected, begin, repair, end):
        """Injects a fault, waits until each pair has service in spite of it, ends it and waits until all is well.

        The time without service begins when `begin` has returned. `repair` is what clients need to have service again.
        """
        marks = {worker.number: len(worker.ledger.lines) for worker in self.workers}
        fault = Injected(kind, time.time(), affected)
        self.injected.append(fault)
        begin()
        moment = time.time()
        repair()
        self.wait_for_service(moment, marks, fault.seconds)
        if kind == DIVIDED_NODE:
            # The others have had service all the time.
            fault.seconds = {number: each for number, each in fault.seconds.items() if number in affected}
        end()
        self.cluster.wait_until_healthy()
        self.wait_for_service(time.time(), marks, {})
        print(f"cluster: {kind}: service after {shown(fault.times(True))} s, others after {shown(fault.times(False))} s", flush=True)

    def wait_for_service(self, moment, marks, seconds):
        """Waits until each worker has a message that was handed to its publisher after the moment, and records the times."""

        def all_served():
            for worker in self.workers:
                if worker.number not in seconds:
                    arrived = worker.ledger.first_after(moment, marks[worker.number])
                    if arrived:
                        seconds[worker.number] = arrived - moment
            return len(seconds) == len(self.workers)

        until(all_served, lambda: self.silent(seconds))

    def silent(self, seconds):
        return "\n".join(
            ["these pairs have no service:"]
            + [each.end_of_log(6) for each in [*self.workers, *self.publishers] if each.number not in seconds]
            + [node.end_of_log(4) for node in self.cluster.nodes.values()]
        )


def nothing():
    pass


def shown(times):
    return ", ".join(f"{each:.2f}" for each in sorted(times)) or "-"


def middle_and_most(times):
    return f"{statistics.median(times):.2f} s / {max(times):.2f} s" if times else "-"
