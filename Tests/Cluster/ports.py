"""Ports that are free now and that no outgoing connection takes later."""
import random
import socket

# Below the ports of outgoing connections, because a node that is down does not hold its ports.
RANGE = (10_000, 30_000)


def is_free(address, port):
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def free(count, address="127.0.0.1"):
    """Returns as many different ports."""
    ports = []
    while len(ports) < count:
        port = random.randint(*RANGE)
        if port not in ports and is_free(address, port):
            ports.append(port)
    return ports
