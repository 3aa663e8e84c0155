"""The loads of the capacity rows: messages of a broker, all at once or at a rate, and connections of clients in C."""
import os
import signal
import subprocess

import capacity_configurations as configurations
import quiet
from capacity_program import rate, steady
from payment_messages import BODY
from processes import LOOPBACK, SECONDS, Running


def write_lines(folder, count, plugins, has_ids=False):
    """Writes messages that name the plugins in turn, and returns the file."""
    path = os.path.join(folder, "lines")
    with open(path, "w") as file:
        for number in range(count):
            id = f'"id":"{number:032}",' if has_ids else ""
            file.write('{"action":"%s",%s"body":%s}\n' % (configurations.action(number % plugins), id, BODY))
    return path


def publish(command, port, path, *options):
    url = f"mqtt://{LOOPBACK}:{port}"
    with open(path) as lines:
        arguments = [command, "publish", url, "-t", configurations.TOPIC, "--lines", "--quiet", *options]
        subprocess.run(arguments, stdin=lines, check=True, timeout=SECONDS)


def broker_seconds(broker):
    with open(f"/proc/{broker.process.pid}/stat") as file:
        return quiet.parsed(file.read()).own


def flood(program, broker, path, count):
    """Publishes the lines while the program is stopped, so that the publisher is not the limit. All sources together receive `count`
    messages. Returns messages a second, and microseconds of processor time a message: ours and the broker's."""
    handled = program.sample().handled
    program.process.send_signal(signal.SIGSTOP)
    publish(program.command, broker.port, path)
    before = broker_seconds(broker)
    program.process.send_signal(signal.SIGCONT)
    samples = program.samples(handled + count)
    return [*rate(*steady(samples)), (broker_seconds(broker) - before) * 1e6 / count]


def paced(program, broker, path, count, interval):
    """Publishes the lines at a rate. Returns messages a second, and microseconds of processor time a message."""
    before = program.sample()
    publish(program.command, broker.port, path, "--interval", interval)
    return rate(before, program.samples(before.handled + count)[-1])


def connected(folder, client, port, connections, count):
    """Returns a client whose connections together send `count` messages and stay open."""
    return Running(client, port, connections, count, os.path.join(folder, "message"), 0)


def words(*command):
    """Returns the numbers that a client in C prints, by their names."""
    with Running(*command) as clients:
        found = clients.line()
        return dict(zip(found[::2], map(float, found[1::2])))
