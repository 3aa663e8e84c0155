"""Where the nodes run: on loopback, or each in a network of its own that can be cut off."""
import contextlib
import os
import subprocess

from waiting import until

LOOPBACK = "127.0.0.1"


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Loopback:
    """One address for all nodes. Nothing can be cut off."""

    can_be_cut = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def address(self, _):
        return LOOPBACK

    def inside(self, _):
        return []


class Bridged:
    """A network namespace for each node, joined by a bridge in this process's own namespace.

    Needs root, and a process that `unshare --net` started: everything then ends with the processes.
    """

    can_be_cut = True

    def __init__(self, nodes):
        self.nodes, self.holders, self.contexts = nodes, {}, contextlib.ExitStack()

    def __enter__(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "lan", "type", "bridge")
        run("ip", "address", "add", "10.77.0.1/24", "dev", "lan")
        run("ip", "link", "set", "lan", "up")
        with contextlib.ExitStack() as started:
            for node in self.nodes:
                self.holders[node] = started.enter_context(Holder())
                self.join(node)
            self.contexts = started.pop_all()
        return self

    def __exit__(self, *_):
        self.contexts.close()

    def address(self, node):
        return f"10.77.0.{10 + node}"

    def inside(self, node):
        return ["nsenter", "--target", str(self.holders[node].pid), "--net", "--"]

    def join(self, node):
        run("ip", "link", "add", f"node{node}", "type", "veth", "peer", "name", "eth0", "netns", str(self.holders[node].pid))
        run("ip", "link", "set", f"node{node}", "master", "lan", "up")
        run(*self.inside(node), "ip", "link", "set", "lo", "up")
        run(*self.inside(node), "ip", "address", "add", f"{self.address(node)}/24", "dev", "eth0")
        run(*self.inside(node), "ip", "link", "set", "eth0", "up")

    def cut(self, node):
        """Drops every packet from and to the node, without a reset."""
        run("ip", "link", "set", f"node{node}", "down")

    def mend(self, node):
        run("ip", "link", "set", f"node{node}", "up")

    def cut_from_peers(self, node):
        """Drops every packet from the node to the others. Clients still reach it."""
        for peer in self.nodes:
            if peer != node:
                run(*self.inside(node), "ip", "route", "add", "blackhole", self.address(peer))

    def mend_to_peers(self, node):
        for peer in self.nodes:
            if peer != node:
                run(*self.inside(node), "ip", "route", "delete", "blackhole", self.address(peer))


class Holder:
    """A process that only holds a network namespace."""

    def __enter__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.pid = self.process.pid
        own = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.pid}/ns/net") != own, "no network namespace", 10)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
