"""Three chat programs behind haproxy, six clients, and a program that is killed.

usage: cluster.py SIGNALBOX

Every wait is for an event, and ends with an error after a minute.
"""
import collections
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60
CLIENTS = ["anna", "ben", "cleo", "dora", "emil", "finn"]


class Failure(Exception):
    """What did not happen."""


class Program:
    """A process whose lines are read as they come. It is ended by its own process."""

    def __init__(self, name, arguments, **options):
        self.name = name
        self.lines = queue.Queue()
        self.seen = collections.deque(maxlen=20)
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, **options
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self, words, until):
        """Returns the next line with the words."""
        while True:
            try:
                line = self.lines.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                raise Failure(f"{self.name} has no line with {words}; its last lines:\n" + "\n".join(self.seen)) from None
            if line is None:
                raise Failure(f"{self.name} ended before a line with {words}; its last lines:\n" + "\n".join(self.seen))
            self.seen.append(line)
            if words in line:
                return line

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


class Node(Program):
    """A chat program. Its outcomes show which clients it serves."""

    def __init__(self, signalbox, name, broker):
        environment = dict(os.environ, NODE=name, BROKER=broker)
        arguments = [signalbox, "run", os.path.join(HERE, "node.yaml"), "--outcomes"]
        super().__init__(name, arguments, env=environment)
        self.port = None
        self.clients = queue.Queue()

    def start(self, until):
        """Waits until the program can serve clients. The lines have no fixed order."""
        missing = {"chat-backplane: subscribed to", "push: subscribed to", "publisher: connected to", "listening on"}
        while missing:
            line = self.line(" ", until)
            if "listening on" in line:
                self.port = int(line.split("127.0.0.1:")[1].split("/")[0].split()[0])
            missing = {words for words in missing if words not in line}


class Cluster:
    """A broker, three programs, haproxy and the clients."""

    def __init__(self, signalbox, folder):
        self.signalbox = os.path.abspath(signalbox)
        self.folder = folder
        self.programs = []
        self.nodes = {}
        self.clients = {}
        self.placed = queue.Queue()

    @property
    def until(self):
        """When a wait that begins now ends."""
        return time.monotonic() + PATIENCE

    def add(self, program):
        self.programs.append(program)
        return program

    def start(self):
        # A Unix socket needs no free port.
        path = os.path.join(self.folder, "broker")
        settings = os.path.join(self.folder, "mosquitto.conf")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"listener 0 {path}\nallow_anonymous true\nlog_dest stderr\nuser root\n")
        self.add(Program("mosquitto", ["mosquitto", "-c", settings])).line("running", self.until)
        for number in (1, 2, 3):
            name = f"node-{number}"
            self.nodes[name] = self.add(Node(self.signalbox, name, f"unix:{path}"))
        for node in self.nodes.values():
            node.start(self.until)
            threading.Thread(target=self.watch, args=(node,), daemon=True).start()
        self.balance()

    def watch(self, node):
        """Reports each client that enters at the program."""
        while (line := node.lines.get()) is not None:
            node.seen.append(line)
            if line.startswith("{") and '"action":"enter"' in line:
                self.placed.put((json.loads(line)["id"], node.name))

    def balance(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = listener.getsockname()[1]
        with open(os.path.join(HERE, "haproxy.cfg"), encoding="utf-8") as file:
            text = file.read()
        servers = "\n".join(f"    server {node.name} 127.0.0.1:{node.port}" for node in self.nodes.values())
        path = os.path.join(self.folder, "haproxy.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(descriptor=listener.fileno(), servers=servers))
        arguments = ["haproxy", "-db", "-f", path]
        self.add(Program("haproxy", arguments, pass_fds=[listener.fileno()]))
        listener.close()

    def connect(self, name):
        """Connects a client through haproxy, and returns the program that serves it."""
        enter = json.dumps({"action": "enter", "id": name, "body": name})
        url = f"ws://127.0.0.1:{self.port}/chat"
        self.clients[name] = self.add(
            Program(name, [self.signalbox, "connect", url, "--raw", "--retry", "--open-message", enter])
        )
        return self.entered([name])[name]

    def entered(self, names):
        """Returns the programs at which these clients enter next."""
        found = {}
        while len(found) < len(names):
            try:
                client, node = self.placed.get(timeout=max(0, self.until - time.monotonic()))
            except queue.Empty:
                raise Failure(f"of {names}, only {sorted(found)} entered") from None
            if client not in names:
                raise Failure(f"{client} lost its connection to a program that runs")
            found[client] = node
        for client in found:
            # Its own answer shows that it can receive.
            self.clients[client].line(f'"id":"{client}"', self.until)
        return found

    def say(self, speakers, occasion):
        """Lets clients speak at once, and checks what all of them receive."""
        for name in speakers:
            self.clients[name].write(json.dumps({"action": "say", "body": {"from": name, "text": occasion}}))
        return self.heard(len(speakers), '"action":"say"')

    def heard(self, count, words):
        orders = {name: [client.line(words, self.until) for _ in range(count)] for name, client in self.clients.items()}
        first = next(iter(orders.values()))
        if len(set(first)) != count:
            raise Failure(f"a message arrived twice: {first}")
        for name, order in orders.items():
            if order != first:
                raise Failure(f"{name} received {order}, and not {first}")
        return first

    def end(self):
        for program in reversed(self.programs):
            program.end()


def show(places):
    for node in sorted(set(places.values())):
        print(f"  {node} serves {', '.join(sorted(name for name, place in places.items() if place == node))}")


def run(cluster):
    cluster.start()
    places = {name: cluster.connect(name) for name in CLIENTS}
    print("chat-cluster: three programs behind haproxy")
    show(places)
    # A late health check may take one program out for a moment.
    if len(set(places.values())) < 2:
        raise Failure("haproxy used one program only")
    order = cluster.say(CLIENTS, "hello")
    print(f"  all {len(CLIENTS)} clients received the {len(order)} messages, in one order, each once")

    body = os.path.join(cluster.folder, "broker")
    publish = ["publish", f"unix:{body}", "--topic", "announce/news", "--body", '{"text":"tea is ready"}']
    subprocess.run([cluster.signalbox, *publish], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    cluster.heard(1, '"action":"news"')
    print("  one program received an announcement of the broker, and all clients received it once")

    victim = places[CLIENTS[0]]
    moving = [name for name, node in places.items() if node == victim]
    start = time.monotonic()
    cluster.nodes[victim].process.kill()
    staying = [name for name in CLIENTS if name not in moving]
    places.update(cluster.entered(moving))
    print(f"  {victim} was killed; {', '.join(moving)} were back after {time.monotonic() - start:.1f} s")
    show(places)
    if victim in places.values() or any(name not in moving and name not in staying for name in places):
        raise Failure("a client is at the killed program")
    cluster.say(moving, "back")
    cluster.say(staying, "welcome")
    print("  all clients talk on, and receive each message once")


def main():
    # mosquitto and the programs share the folder of the broker's socket, whose path must be short.
    folder = tempfile.mkdtemp(prefix="chats", dir="/tmp")
    os.chmod(folder, 0o755)
    cluster = Cluster(sys.argv[1], folder)
    # Python then leaves through `finally`, which ends all programs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    try:
        run(cluster)
    except Failure as failure:
        print(f"chat-cluster: {failure}", file=sys.stderr)
        return 1
    finally:
        cluster.end()
        shutil.rmtree(folder)
    return 0


sys.exit(main())
