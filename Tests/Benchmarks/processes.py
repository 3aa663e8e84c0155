"""Processes that the rows start and that end with them."""
import os
import select
import signal
import subprocess
import sys
import time

LOOPBACK = "127.0.0.1"
# The most that one step of a run may take.
SECONDS = 90


def end_with_children():
    """Makes SIGTERM, and SIGHUP unless it is ignored, exit through the context managers, which end the child processes."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: sys.exit(1))


class Running:
    """A child process that is always ended, by its id, on exit."""

    def __init__(self, *command, **streams):
        streams.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen([str(part) for part in command], text=True, **streams)

    def __enter__(self):
        return self

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        text = self.process.stdout.readline() if ready else ""
        if not text:
            raise SystemExit(f"{self.process.args} printed nothing, status {self.process.poll()}")
        return text.split()

    def numbers(self):
        return [float(word) for word in self.line()]

    def rest(self):
        """Returns all further numbers, until the process exits."""
        return [float(line) for line in self.process.stdout]

    def finish(self):
        """Waits until the process, whose input ends now, exits; its status is 0 if all messages arrived."""
        self.process.stdin.close()
        if self.process.wait(SECONDS) != 0:
            raise SystemExit(f"{self.process.args} ended with status {self.process.returncode}")

    def processor_seconds(self):
        """Waits until the process exits, and returns its processor time, start-up included."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            process, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if process:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                return usage.ru_utime + usage.ru_stime
            time.sleep(0.005)
        raise SystemExit(f"{self.process.args} did not end; messages may be missing")

    def __exit__(self, *_):
        if self.process.poll() is None:
            # A stopped process would not handle SIGTERM.
            self.process.kill()
        self.process.wait(SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
