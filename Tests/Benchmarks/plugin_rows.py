"""Measures plugins that are programs or servers beside the least that such a call takes, and prints medians as a Markdown table.

usage: plugin_rows.py PROGRAMS ROUNDS

PROGRAMS is the folder of the built programs. A call is a payment, from its submission to its outcome. Calls one after the other run on
one core: how long it takes to wake another core that sleeps depends on the machine and its host.
"""
import os
import shutil
import sys
import tempfile

from payment_messages import BODY
from processes import Running, end_with_children
from tables import median, shown, verdict

PROGRAMS, ROUNDS = sys.argv[1], int(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
# The least calls a second through one process, and the longest median of a call alone, in microseconds.
RATE_BAR, TIME_BAR = 50_000, 150
MANY = 1_000
ONE_CORE = ["taskset", "-c", "0"] if shutil.which("taskset") else []
PROCESS = "`process`, program in C"
CONFIGURATION = """
sources: {{ benchmark: {{ links: {{ urls: ['app://payment'], routes: [{{ pattern: 'app://payment', action: payment }}] }} }} }}
plugins: [{{ action: payment, from: benchmark, max_concurrent: {many}, order: none, {use} }}]
"""
PYTHON = """
import sys
from dataclasses import dataclass
sys.path.insert(0, {folder!r})
from signalbox import action, run

@dataclass
class Payment:
    amount: int
    transactionId: str
    paymentId: str
    paymentGoodsName: str

@action("payment")
def payment(body: Payment, context):
    return None

run()
"""


def program(name):
    return os.path.join(PROGRAMS, name)


class Rows:
    """The commands of the rows, with the files that they need in a folder."""

    def __init__(self, folder, port_on_one_core, port):
        self.folder, self.port_on_one_core, self.port = folder, port_on_one_core, port
        self.body = self.write("body", BODY)
        self.line = self.write("line", '{"id":7,"action":"payment","body":%s}' % BODY)
        self.python = self.write("plugin.py", PYTHON.format(folder=os.path.join(HERE, "../../examples/plugins/python")))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def ours(self, name, use, in_flight, count):
        path = self.write(f"{name}.yaml", CONFIGURATION.format(use=use, many=MANY))
        return [program("PluginBenchmark"), path, in_flight, count]

    def all(self):
        """Returns the commands of the rows, by their names and the number of calls at once."""
        raw, caller = program("RawProgram"), program("RawProgramCaller")
        process = f"use: process, command: [{raw}, lines]"
        post = "use: http, url: 'http://127.0.0.1:%s/payment'"
        rows = {
            ("C: a line out, a line in", 1): [caller, "lines", raw, 50_000, self.line],
            (PROCESS, 1): self.ours("process", process, 1, 20_000),
            (PROCESS, MANY): self.ours("process", process, MANY, 200_000),
            ("C: a process a call", 1): [caller, "once", raw, 1_000, self.body],
            ("`exec`, program in C", 1): self.ours("exec", f"use: exec, command: [{raw}, once]", 1, 500),
            ("C: libcurl", 1): [program("RawPoster"), self.port_on_one_core, "/payment", 20_000, self.body],
            ("`http`", 1): self.ours("http-alone", post % self.port_on_one_core, 1, 10_000),
            ("`http`", 32): self.ours("http", post % self.port, 32, 20_000),
        }
        if python := shutil.which("python3"):
            typed = f"use: process, command: [{python}, {self.python}], start_limit: 10s"
            for in_flight, count in ((1, 10_000), (MANY, 50_000)):
                rows["`process`, program in Python", in_flight] = self.ours("python", typed, in_flight, count)
        return {key: ONE_CORE + command if key[1] == 1 else command for key, command in rows.items()}


def bars(name, in_flight, rates, times):
    if name != PROCESS:
        return ""
    if in_flight == 1:
        return f"p50 {verdict(float(median(times)) < TIME_BAR, TIME_BAR)}"
    return f"a second {verdict(float(median(rates).replace(',', '')) >= RATE_BAR, RATE_BAR)}"


def plugins(folder):
    with Running(*ONE_CORE, program("RawHTTPServer")) as alone, Running(program("RawHTTPServer")) as server:
        rows = Rows(folder, alone.line()[0], server.line()[0])
        numbers = {key: [] for key in rows.all()}
        for _ in range(ROUNDS):
            for key, command in rows.all().items():
                with Running(*command) as calls:
                    numbers[key].append(calls.numbers())
    lines = [["plugin", "calls at once", "calls a second", "p50, us", "p99, us", "bar"]]
    for (name, in_flight), results in numbers.items():
        rates, medians, worst = zip(*results)
        cells = [median(rates), median(medians, 1), median(worst, 1), bars(name, in_flight, rates, medians)]
        lines.append([name, f"{in_flight:,}", *cells])
    print(shown("plugins", *lines))


end_with_children()
with tempfile.TemporaryDirectory() as place:
    plugins(place)
