"""A running `signalbox run`: its start and end, its own counts, and what it uses of the system."""
import collections
import json
import os
import socket
import subprocess
import time

from processes import SECONDS, Running

# At one moment: the monotonic clock, messages with an outcome, seconds of processor time, bytes of resident memory, descriptors.
Sample = collections.namedtuple("Sample", "at handled processor resident descriptors")
PAUSE = 0.05


class Program:
    """`signalbox run` with a configuration that has the key `control: socket`. It is ended by its id."""

    def __init__(self, program, folder, configuration):
        self.command, self.folder, self.configuration = program, folder, configuration
        self.log = os.path.join(folder, "log")

    def __enter__(self):
        path = os.path.join(self.folder, "signalbox.yaml")
        with open(path, "w") as file:
            file.write(self.configuration)
        with open(self.log, "w") as log:
            # It reads no input. The level leaves out a line for each connection.
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log}
            self.running = Running(self.command, "run", path, "--log-level", "warning", **streams)
        self.process = self.running.process
        try:
            self.until(lambda status: status["isReady"], "is not ready")
        except BaseException:
            self.running.__exit__()
            raise
        return self

    def __exit__(self, failure, *_):
        try:
            if failure is None and self.process.poll() is None:
                self.process.terminate()
                self.process.wait(SECONDS)
        finally:
            status = self.process.poll()
            self.running.__exit__()
        if failure is None and status != 0:
            raise SystemExit(f"signalbox ended with status {status}: {self.lines()}")

    def lines(self):
        with open(self.log) as log:
            return log.read()[-2_000:]

    def status(self):
        """Returns the answer of the control socket; None while the program starts."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(SECONDS)
                connection.connect(os.path.join(self.folder, "socket"))
                connection.sendall(b'{"request":"status"}\n')
                with connection.makefile() as answer:
                    found = json.loads(answer.readline() or "{}")
        except (FileNotFoundError, ConnectionError):
            return None
        return found if "program" in found else None

    def until(self, is_met, problem):
        """Returns the first status that meets a condition."""
        end, status = time.monotonic() + SECONDS, None
        while time.monotonic() < end and self.process.poll() is None:
            if (status := self.status()) and is_met(status):
                return status
            time.sleep(PAUSE)
        raise SystemExit(f"signalbox {problem}, exit status {self.process.poll()}: {self.lines() or status}")

    def sample(self):
        return sampled(self.status())

    def samples(self, handled):
        """Returns samples until this number of messages is handled, since the program's start."""
        found = []

        def is_done(status):
            found.append(sampled(status))
            return found[-1].handled >= handled

        self.until(is_done, f"did not handle {handled:,} messages")
        return found

    def system(self, name):
        """Returns a number of /proc/PID/status, such as `Threads`, or `VmHWM`, the most resident memory, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(next(line for line in file if line.startswith(f"{name}:")).split()[1])


def sampled(status):
    """Returns a sample of an answer to `status`. Raises SystemExit if a message was not handled."""
    outcomes = [source["outcomes"] for source in status["sources"]]
    if lost := sum(sum(one.values()) - one["handled"] for one in outcomes):
        raise SystemExit(f"{lost} messages were not handled: {status['deadLetters']['last']}")
    program = status["program"]
    handled = sum(one["handled"] for one in outcomes)
    return Sample(time.monotonic(), handled, program["processorSeconds"], program["residentBytes"], program["openDescriptors"])


def steady(samples):
    """Returns the first and the last sample of the time under full load, without its beginning and its end."""
    first, last = samples[0].handled, samples[-1].handled
    least, most = first + (last - first) * 0.1, first + (last - first) * 0.95
    inner = [one for one in samples if least <= one.handled <= most]
    return (inner[0], inner[-1]) if len(inner) > 1 else (samples[0], samples[-1])


def rate(begin, end):
    """Returns messages a second, and microseconds of processor time a message."""
    count = end.handled - begin.handled
    return count / (end.at - begin.at), (end.processor - begin.processor) * 1e6 / count
