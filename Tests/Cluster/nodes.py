"""A cluster of three nodes of nats-server whose streams have three replicas."""
import contextlib
import http.client
import json
import os
import signal
import urllib.request

import ports
from children import Child
from waiting import PATIENCE, Fault, until

NODES = (1, 2, 3)
# Where the server keeps messages of QoS 1, and the sessions of clients.
STREAMS = ("$MQTT_msgs", "$MQTT_sess")
# In seconds: the time that new nodes have to find each other, before other ports are tried.
START = 40
# The other keys have the server's defaults, except that a message that was not acknowledged is sent again after 10 s, not 30.
CONFIGURATION = """
server_name: n{node}
listen: "127.0.0.1:-1"
http: "{address}:{monitor}"
jetstream {{ store_dir: "{folder}/store-{node}", max_memory_store: 64MB, max_file_store: 2GB }}
cluster {{ name: trial, listen: "{address}:{route}", routes: [{routes}] }}
mqtt {{ listen: "{address}:{mqtt}", stream_replicas: {replicas}, consumer_replicas: {replicas}, ack_wait: "10s" }}
"""


class Node(Child):
    """One node, with its ports, its store and its monitoring endpoint."""

    def __init__(self, number, network, folder):
        self.number, self.network = number, network
        self.address = network.address(number)
        self.mqtt, self.route, self.monitor = ports.free(3)
        self.folder = folder
        configuration = os.path.join(folder, f"n{number}.conf")
        super().__init__(network.inside(number) + ["nats-server", "-c", configuration], os.path.join(folder, f"n{number}.log"))

    @property
    def url(self):
        return f"mqtt://{self.address}:{self.mqtt}"

    @property
    def target(self):
        return self.address, self.mqtt

    def configure(self, others, replicas):
        """Writes the configuration, which has the routes to the other nodes."""
        routes = ", ".join(f'"nats://{other.address}:{other.route}"' for other in others)
        values = {"address": self.address, "monitor": self.monitor, "folder": self.folder, "route": self.route, "mqtt": self.mqtt}
        with open(os.path.join(self.folder, f"n{self.number}.conf"), "w") as file:
            file.write(CONFIGURATION.format(node=self.number, routes=routes, replicas=replicas, **values))

    def answer(self, path):
        """Returns what the monitoring endpoint answers; nothing if it cannot."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:{self.monitor}{path}", timeout=5) as response:
                return json.load(response)
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def led(self):
        """Returns what this node leads of the streams and consumers of messages and sessions: each name, and whether all replicas follow.

        Only the leader knows that. /healthz also waits for consumers of retained messages, and may do so for ever.
        """
        answer = self.answer("/jsz?streams=1&consumers=1")
        streams = [each for account in answer.get("account_details", []) for each in account.get("stream_detail", [])]
        streams = [each for each in streams if each["name"] in STREAMS]
        parts = streams + [consumer for stream in streams for consumer in stream.get("consumer_detail", [])]
        led = [(each["name"], each["cluster"]) for each in parts if each.get("cluster", {}).get("leader") == f"n{self.number}"]
        return {name: all(replica.get("current") for replica in cluster.get("replicas", [])) for name, cluster in led}

    def knows_leader(self):
        """Returns whether the node has joined the others."""
        group = self.answer("/jsz").get("meta_cluster", {})
        return bool(group.get("leader")) and group.get("cluster_size") == len(NODES)

    def clients(self):
        """Returns the ids of the connected MQTT clients."""
        return {each.get("mqtt_client") for each in self.answer("/connz").get("connections", [])}

    def stop(self):
        """Stops the process, and waits until each of its threads has stopped: until then it may pass on a message."""
        self.send(signal.SIGSTOP)
        until(lambda: self.states_of_threads() == {"T"}, "the node does not stop", 10)

    def states_of_threads(self):
        """Returns the states of the threads (proc(5): the field after the name); on a system without /proc, that they have stopped."""
        folder = f"/proc/{self.process.pid}/task"
        if not os.path.isdir(folder):
            return {"T"}
        states = set()
        for thread in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, thread, "stat")) as file:
                states.add(file.read().rpartition(")")[2].split()[0])
        return states

    def resume(self):
        self.send(signal.SIGCONT)


class Cluster:
    """Three nodes, all healthy when the context begins."""

    def __init__(self, network, folder, replicas=3):
        self.network, self.folder, self.replicas = network, folder, replicas
        self.nodes = {}
        self.contexts = contextlib.ExitStack()

    def __enter__(self):
        # Another process may take a port before a node does.
        for attempt in range(3):
            try:
                return self.started(os.path.join(self.folder, f"cluster-{attempt}"))
            except Fault as fault:
                self.contexts.close()
                reason = fault
        raise reason

    def __exit__(self, *_):
        self.contexts.close()

    def started(self, folder):
        os.mkdir(folder)
        self.nodes = {number: Node(number, self.network, folder) for number in NODES}
        with contextlib.ExitStack() as started:
            for node in self.nodes.values():
                node.configure([other for other in self.nodes.values() if other is not node], self.replicas)
                started.enter_context(node)
            self.contexts = started.pop_all()
        self.wait_until_healthy(START)
        return self

    def wait_until_healthy(self, patience=PATIENCE):
        until(self.is_healthy, self.states, patience)

    def is_healthy(self):
        """Returns whether each node has joined and follows the leaders of all streams, so that another one may fail."""
        if not all(node.runs() and node.knows_leader() for node in self.nodes.values()):
            return False
        led = {name: follow for node in self.nodes.values() for name, follow in node.led().items()}
        # Before the first client there are no streams.
        return all(led.values()) and (set(STREAMS) <= set(led) or not self.has_streams())

    def has_streams(self):
        return any(node.answer("/jsz").get("streams") for node in self.nodes.values())

    def states(self):
        return "\n".join(
            ["the nodes are not healthy"]
            + [f"n{node.number} leads {node.led()}, knows a leader: {node.knows_leader()}" for node in self.nodes.values()]
            + [node.end_of_log(4) for node in self.nodes.values()]
        )

    def in_turn(self, first):
        """Returns all nodes, beginning with another one for each client."""
        numbers = NODES[first % 3 :] + NODES[: first % 3]
        return [self.nodes[number] for number in numbers]
