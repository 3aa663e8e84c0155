"""Deliveries a second of a chat in one process, and of one in several processes that share their broadcasts through a broker.

usage: chat_cluster.py SIGNALBOX [CONNECTIONS [BROADCASTS]]

CONNECTIONS (3000) is the number for each process of three. One client broadcasts, with up to 16 messages on their way, and the time
ends when every connection has received all. Everything runs on this machine, so the clients share its processors. Each setup is
bounded by two minutes.
"""
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 120
WINDOW = 16
TEXT = "x" * 60
SENT = b'{"action":"say","id":"1","body":"%s"}' % TEXT.encode()
# What a connection receives of each broadcast: a header of two bytes, and the envelope without an id.
FRAME = 2 + len(b'{"action":"say","body":"%s"}' % TEXT.encode())

CHAT = """sources:
  chat: {{ chat: {{ port: 0, absent_origin: allowed, tags: [lobby], connections: 20000, all_waiting_bytes: 1GiB {backplane} }} }}
{push}plugins:
  - {{ action: say, use: broadcast, tag: lobby, timeout: 60s, from: chat }}
{rest}"""
PUSH = "  push: {{ mqtt: {{ broker: 'unix:{broker}', client_id: {name}, topics: ['none/{{action}}'], publishing: {{}} }} }}\n"
REST = "  - { action: rest, use: log, from: push }\n"
READY = ["chat-backplane: subscribed to", "publisher: connected to", "listening on ws://"]


def opened(port):
    """Returns a connection after its handshake."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
    connection.sendall(
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        # The answer ends with its empty line; a larger read could take a broadcast.
        part = connection.recv(1)
        if not part:
            raise SystemExit(f"chat_cluster: the server refused a connection: {answer!r}")
        answer += part
    if not answer.startswith(b"HTTP/1.1 101"):
        raise SystemExit(f"chat_cluster: the server answered {answer!r}")
    return connection


def receive(port, count, broadcasts):
    """Opens connections, and reads until each has received every broadcast."""
    selector = selectors.DefaultSelector()
    missing = {}
    for _ in range(count):
        connection = opened(port)
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
        missing[connection] = broadcasts * FRAME
    print("ready", flush=True)
    end = time.monotonic() + LIMIT
    while missing:
        events = selector.select(timeout=max(0, end - time.monotonic()))
        if not events:
            raise SystemExit(f"chat_cluster: {len(missing)} connections did not receive all broadcasts")
        for key, _ in events:
            part = key.fileobj.recv(1 << 16)
            if not part:
                raise SystemExit("chat_cluster: the server closed a connection")
            missing[key.fileobj] -= len(part)
            if missing[key.fileobj] <= 0:
                selector.unregister(key.fileobj)
                del missing[key.fileobj]
    print(f"done {time.monotonic_ns()}", flush=True)
    sys.stdin.read()


def send(port, broadcasts):
    """Sends the broadcasts, each once an earlier one has been answered. Returns when it began."""
    connection = opened(port)
    frame = bytes([0x81, 0x80 | len(SENT)]) + b"\0\0\0\0" + SENT
    start, sent, answered, buffer = time.monotonic_ns(), 0, 0, b""
    while answered < broadcasts:
        while sent < broadcasts and sent - answered < WINDOW:
            connection.sendall(frame)
            sent += 1
        part = connection.recv(1 << 16)
        if not part:
            raise SystemExit("chat_cluster: the server closed the connection of the sender")
        buffer += part
        while len(buffer) >= 2 and len(buffer) >= 2 + buffer[1]:
            message, buffer = buffer[2:2 + buffer[1]], buffer[2 + buffer[1]:]
            if b'"outcome"' in message:
                if b'"handled"' not in message:
                    raise SystemExit(f"chat_cluster: a broadcast was answered with {message!r}")
                answered += 1
    return start


class Setup:
    """The processes of one row. Each is ended by its own process."""

    def __init__(self, signalbox, folder):
        self.signalbox, self.folder, self.processes = signalbox, folder, []

    def start(self, arguments, **options):
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, text=True, **options)
        self.processes.append(process)
        return process

    def until(self, lines, words):
        """Reads lines until all of the words have come, and returns the port that one of them names."""
        missing, port = set(words), None
        while missing:
            line = lines.readline()
            if not line:
                raise SystemExit("chat_cluster: a process ended before it was ready")
            if "listening on ws://" in line:
                port = int(line.split("ws://127.0.0.1:")[1].split("/")[0])
            missing = {words for words in missing if words not in line}
        # What is written later must not fill the pipe.
        threading.Thread(target=lines.read, daemon=True).start()
        return port

    def node(self, name, broker):
        path = os.path.join(self.folder, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            push = PUSH.format(broker=broker, name=name) if broker else ""
            backplane = ", backplane: push" if broker else ""
            file.write(CHAT.format(backplane=backplane, push=push, rest=REST if broker else ""))
        node = self.start([self.signalbox, "run", path], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        return self.until(node.stderr, READY if broker else READY[-1:])

    def broker(self):
        path = os.path.join(self.folder, "broker")
        settings = os.path.join(self.folder, "mosquitto.conf")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"listener 0 {path}\nallow_anonymous true\nlog_dest stderr\nuser root\n")
        self.until(self.start(["mosquitto", "-c", settings], stderr=subprocess.PIPE).stderr, ["running"])
        return path

    def measure(self, nodes, connections, broadcasts, shares):
        """Returns the deliveries a second."""
        broker = self.broker() if shares else None
        ports = [self.node(f"node-{number}", broker) for number in range(nodes)]
        # Three processes read in each row, so that the rows differ only in the servers.
        readers = []
        for number in range(3):
            arguments = [sys.executable, os.path.abspath(__file__), "--receive", str(ports[number % nodes])]
            arguments += [str(connections), str(broadcasts)]
            readers.append(self.start(arguments, stdout=subprocess.PIPE))
        for reader in readers:
            if reader.stdout.readline() != "ready\n":
                raise SystemExit("chat_cluster: a reader ended")
        start = send(ports[0], broadcasts)
        ends = [reader.stdout.readline().split() for reader in readers]
        if not all(ends):
            raise SystemExit("chat_cluster: a reader ended")
        return 3 * connections * broadcasts / (max(int(end[1]) for end in ends) - start) * 1e9

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main():
    signalbox = os.path.abspath(sys.argv[1])
    connections = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    broadcasts = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    # Python then leaves through `finally`, which ends all processes. The alarm bounds each setup.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, lambda *_: sys.exit("chat_cluster: ended by a signal or after two minutes"))
    for text, nodes, shares in [
        ("one process, no backplane", 1, False), ("one process, with a backplane", 1, True), ("three processes", 3, True),
    ]:
        folder = tempfile.mkdtemp(prefix="chats", dir="/tmp")
        os.chmod(folder, 0o755)
        setup = Setup(signalbox, folder)
        signal.alarm(LIMIT)
        try:
            rate = setup.measure(nodes, connections, broadcasts, shares)
        finally:
            signal.alarm(0)
            setup.end()
            shutil.rmtree(folder)
        print(f"| {text} | {nodes} x {3 * connections // nodes:,} | {rate:,.0f} |", flush=True)


if sys.argv[1:2] == ["--receive"]:
    receive(*(int(argument) for argument in sys.argv[2:5]))
else:
    main()
