"""Runs the same page in each engine that this machine can run, with and without Signalbox, and prints medians as Markdown tables.

usage: engine_rows.py PROGRAMS ROUNDS [ENGINE...]

PROGRAMS is the folder of the built programs; the engines are jsc, webkitgtk and browser, all of them by default. Each page
has its own process. The programs time it, see page_counter.h; a missing or out-of-order message ends the run.
"""
import os
import statistics
import subprocess
import sys
import tempfile

import processes
from engine_browser import Browser, browser_path
from engine_memory import memory
from engine_pages import CALLERS, MESSAGES, ONE_CALL, ONE_WAY, Site, count_of, script
from tables import median, ratio, shown

PROGRAMS, ROUNDS, WANTED = sys.argv[1], int(sys.argv[2]), sys.argv[3:] or ["jsc", "webkitgtk", "browser"]
NAMES = {"jsc": "JavaScriptCore", "webkitgtk": "WebKitGTK", "browser": "Chromium"}


def program(name):
    return os.path.join(PROGRAMS, name)


def started(*command):
    return processes.Running(*command, stdin=subprocess.PIPE, bufsize=1)


class Result:
    def __init__(self, line, count, began=None):
        first, self.seconds, self.median, self.late, at = map(float, line)
        # In a browser, measured from its start.
        self.first = at - began if began else first
        self.rate = count / self.seconds


def measure(engine, row, bare, site, folder):
    count = count_of(engine, row)
    path = os.path.join(folder, "page.js")
    if engine == "browser":
        if bare:
            command = [program("RawPageServer"), count, "first" if CALLERS[row] == 0 else "all"]
        else:
            write(path, script(engine, row, bare))
            command = [program("EngineBenchmark"), engine, count, path]
        with started(*command) as host:
            said = host.line()[0]
            if bare:
                site.script = script(engine, row, bare, port=said)
            with Browser(site.url if bare else said) as browser:
                result = Result(host.line(), count, browser.began)
                result.memory = memory(host.process.pid, browser.process.pid)
                host.finish()
        return result
    site.script = script(engine, row, bare)
    write(path, site.script)
    place = path if engine == "jsc" else site.url
    raw = "RawScriptEngine" if engine == "jsc" else "RawWebView"
    with started(*([program(raw)] if bare else [program("EngineBenchmark"), engine]), count, place) as host:
        result = Result(host.line(), count)
        result.memory = memory(host.process.pid, None)
        host.finish()
    return result


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Rounds:
    def __init__(self, engines):
        self.engines = engines
        self.results = {(engine, row, bare): [] for engine in engines for row in CALLERS for bare in (True, False)}

    def of(self, engine, row, value):
        """Returns the bare engine's values and Signalbox's."""
        return [[value(one) for one in self.results[engine, row, bare]] for bare in (True, False)]

    def show(self):
        rows = [(engine, row) for engine in self.engines for row in CALLERS]
        tables = {
            "engines": [
                ["messages a second", "bare engine", "Signalbox", "times the bare engine's time"],
                *[self.rate_row(engine, row) for engine, row in rows],
            ],
            "engines-calls": [
                ["us a call, 1 in flight", "bare, p50", "Signalbox, p50", "times", "bare, p99", "Signalbox, p99", "times"],
                *[self.call_row(engine) for engine in self.engines],
            ],
            "engines-start": [
                ["ms to the first message", "bare engine", "Signalbox", "times"],
                *[self.first_row(engine) for engine in self.engines],
            ],
            "engines-memory": [
                [f"MB (not of files) after {MESSAGES:,} one-way messages", "bare engine", "Signalbox", "times"],
                *[row for engine in self.engines for row in self.memory_rows(engine)],
            ],
        }
        for name, table in tables.items():
            print(shown(name, *table))

    def rate_row(self, engine, row):
        bare, ours = self.of(engine, row, lambda one: one.rate)
        return [f"{NAMES[engine]}, {row}", rounded(bare), rounded(ours), ratio(bare, ours)]

    def call_row(self, engine):
        cells = [NAMES[engine]]
        for field in ("median", "late"):
            bare, ours = self.of(engine, ONE_CALL, lambda one: getattr(one, field) * 1e6)
            cells += [median(bare, 0 if min(bare) >= 10 else 1), median(ours), ratio(ours, bare)]
        return cells

    def first_row(self, engine):
        bare, ours = self.of(engine, ONE_CALL, lambda one: one.first * 1e3)
        digits = 1 if engine == "jsc" else 0
        return [NAMES[engine], median(bare, digits), median(ours, digits), ratio(ours, bare)]

    def memory_rows(self, engine):
        kinds = {"program": "the program"}
        if engine != "jsc":
            kinds |= {"page": "the page's process", "others": "the engine's other processes"}
        for kind, name in kinds.items():
            bare, ours = self.of(engine, ONE_WAY, lambda one: one.memory[kind].all)
            own = [median(values) for values in self.of(engine, ONE_WAY, lambda one: one.memory[kind].own)]
            cells = [f"{median(bare)} ({own[0]})", f"{median(ours)} ({own[1]})"]
            yield [f"{NAMES[engine]}, {name}", *cells, ratio(ours, bare)]


def rounded(rates):
    """Rounds the median to three digits, more than the measurement's precision."""
    value = statistics.median(rates)
    size = 10 ** max(0, len(str(int(value))) - 3)
    return f"{round(value / size) * size:,.0f}"


def can_run(engine):
    why = None
    if engine == "webkitgtk" and not os.environ.get("SIGNALBOX_HAS_WEBKITGTK"):
        why = "libwebkit2gtk-4.1-dev is not installed"
    elif engine == "webkitgtk" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        why = "no display and no xvfb-run"
    elif engine == "browser" and browser_path() is None:
        why = "Chromium not found; install chromium-headless-shell"
    if why:
        print(f"skipped: the rows of {NAMES[engine]}: {why}")
    return why is None


def main():
    processes.end_with_children()
    if unknown := set(WANTED) - set(NAMES):
        raise SystemExit(f"unknown engine: {', '.join(sorted(unknown))}; known engines: {', '.join(NAMES)}")
    rounds = Rounds([engine for engine in WANTED if can_run(engine)])
    if not rounds.engines:
        return
    site = Site()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for (engine, row, bare), results in rounds.results.items():
                results.append(measure(engine, row, bare, site, folder))
    rounds.show()


main()
