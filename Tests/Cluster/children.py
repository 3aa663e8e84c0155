"""Processes that the trial starts, and ends by their ids."""
import os
import signal
import subprocess
import sys

# In seconds: the time that a process has to end by itself.
GRACE = 30


class Child:
    """A child process whose output goes to a file, and that can be killed, stopped and started again."""

    def __init__(self, command, log, **streams):
        self.command, self.log, self.streams = [str(part) for part in command], log, streams
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            streams = {"stdin": subprocess.DEVNULL, **self.streams}
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, **streams)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        """Ends the process by SIGKILL, which also ends a stopped one."""
        if self.runs():
            self.process.kill()
            self.process.wait()

    def end(self):
        """Ends the process by SIGTERM, and by SIGKILL if it does not obey."""
        if self.runs():
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self.kill()

    def end_of_log(self, lines=12):
        with open(self.log, "rb") as file:
            return b"\n".join(file.read().splitlines()[-lines:]).decode(errors="replace")

    def has_logged(self, text, after=0):
        with open(self.log, "rb") as file:
            file.seek(after)
            return text.encode() in file.read()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()


def exit_on_signals():
    """Makes the first of these signals exit through the context managers, which end the child processes."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def leave(number, _):
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in numbers:
        signal.signal(each, leave)
