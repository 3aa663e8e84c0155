"""A connection through which a client reaches a node, and which records what the node acknowledges and delivers.

The ledger of acknowledged messages is then independent of the program under test: it holds what was on the wire. A missing message
that was delivered is a fault of the program; one that was not is a fault of the broker.
"""
import contextlib
import json
import socket
import struct
import threading
import time

PUBLISH, PUBACK = 3, 4
# The flags of PUBLISH for QoS 1.
AT_LEAST_ONCE = 2
# In seconds. The publisher gives up first.
CONNECT = 60


class Record:
    """The numbers of the messages that were sent to a broker, acknowledged by it and delivered by it, with the times of each."""

    def __init__(self):
        self.sent, self.acknowledged, self.delivered = {}, {}, {}

    def add(self, times, number):
        times.setdefault(number, []).append(time.time())


class Splitter:
    """Divides a stream of bytes into MQTT packets (MQTT 3.1.1, 2.2)."""

    def __init__(self):
        self.bytes = b""

    def packets(self, more):
        """Returns the type, the flags and the body of each packet that is complete."""
        self.bytes += more
        found = []
        while (head := self.head()) and len(self.bytes) >= sum(head):
            length, rest = head
            found.append((self.bytes[0] >> 4, self.bytes[0] & 15, self.bytes[length : length + rest]))
            self.bytes = self.bytes[length + rest :]
        return found

    def head(self):
        """Returns the lengths of the fixed header and of what follows it, or `None` if it is not complete."""
        rest = 0
        for place, byte in enumerate(self.bytes[1:5]):
            rest |= (byte & 127) << (7 * place)
            if byte < 128:
                return place + 2, rest
        return None


def content(body):
    """Returns the packet identifier of a PUBLISH with QoS 1, and the number in its payload."""
    end = 2 + struct.unpack_from(">H", body)[0]
    return body[end : end + 2], json.loads(body[end + 2 :])["n"]


class Connection:
    """One connection of a client, forwarded in both directions until either side ends it."""

    def __init__(self, client, target, record):
        self.client, self.target, self.record = client, target, record
        self.numbers = {}
        self.broker = None

    def serve(self):
        try:
            self.broker = socket.create_connection(self.target, CONNECT)
            self.broker.settimeout(None)
        except OSError:
            self.close()
            return
        threading.Thread(target=self.forward, args=(self.broker, self.client, self.answered), daemon=True).start()
        self.forward(self.client, self.broker, self.published)

    def forward(self, source, destination, note):
        splitter = Splitter()
        try:
            while data := source.recv(65536):
                packets = splitter.packets(data)
                for packet in packets:
                    note(*packet)
                destination.sendall(data)
        except OSError:
            pass
        self.close()

    def published(self, kind, flags, body):
        if kind == PUBLISH and flags & 6 == AT_LEAST_ONCE:
            identifier, number = content(body)
            self.numbers[identifier] = number
            self.record.add(self.record.sent, number)

    def answered(self, kind, flags, body):
        if kind == PUBACK and body[:2] in self.numbers:
            self.record.add(self.record.acknowledged, self.numbers.pop(body[:2]))
        elif kind == PUBLISH and flags & 6 == AT_LEAST_ONCE:
            self.record.add(self.record.delivered, content(body)[1])

    def close(self):
        for each in (self.client, self.broker):
            if each:
                # Another thread may wait for it: `close` alone would not end that.
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()


class Tap:
    """A port of this machine that leads to a node."""

    def __init__(self, target, record):
        self.target, self.record = target, record

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtt://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = Connection(self.listener.accept()[0], self.target, self.record)
                threading.Thread(target=connection.serve, daemon=True).start()

    def __exit__(self, *_):
        self.listener.close()
