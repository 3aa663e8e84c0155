"""Runs the same page in each engine that this machine can run, with and without Signalbox, and prints medians.

usage: engine_rows.py PROGRAMS ROUNDS [ENGINE...]

PROGRAMS is the folder of the built programs; the engines are jsc, webkitgtk and browser, all of them by default. Each page
has its own process. The programs time it, see page_counter.h; a missing or out-of-order message ends the run.
"""
import http.server
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS, ROUNDS, WANTED = sys.argv[1], int(sys.argv[2]), sys.argv[3:] or ["jsc", "webkitgtk", "browser"]
SECONDS = 60
NAMES = {"jsc": "JavaScriptCore", "webkitgtk": "WebKitGTK", "browser": "Chromium"}
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
# The flags of Tests/BrokerKit/Chromium.
BROWSER_FLAGS = [
    "--remote-debugging-pipe", "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-breakpad", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--mute-audio", "--no-proxy-server",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
]
ONE_WAY, ONE_CALL, MANY_CALLS = "one way, `postMessage`", "`call`, 1 in flight", "`call`, 100 in flight"
# The number of callers by row. Each awaits its answer before it calls again; 0 sends without waiting.
CALLERS = {ONE_WAY: 0, ONE_CALL: 1, MANY_CALLS: 100}
MESSAGES = 20_000
# An awaited call is slow when it switches processes.
AWAITED = 5_000

# The part that differs between engines: `send(body)`, and `call(body)`, which returns a promise of the answer.
SIGNALBOX = """
const send = (body) => window.webkit.messageHandlers.payment.postMessage(body);
const call = (body) => signalbox.call('payment', body);
"""
BARE = {
    "jsc": """
const [nativePost, nativeAsk] = [globalThis.post, globalThis.ask];
const send = (body) => nativePost(JSON.stringify({ action: 'payment', body }));
const call = (body) => nativeAsk(JSON.stringify({ action: 'payment', body }));
""",
    "webkitgtk": """
const handlers = window.webkit.messageHandlers;
const send = (body) => handlers.post.postMessage(JSON.stringify({ action: 'payment', body }));
const call = (body) => handlers.ask.postMessage(JSON.stringify({ action: 'payment', body }));
""",
    "browser": """
const socket = new WebSocket('ws://127.0.0.1:PORT/', 'benchmark');
const opening = new Promise((resolve) => { socket.onopen = resolve; });
const waiting = [];
let answered = 0;
socket.onmessage = (event) => {
  const answer = JSON.parse(event.data);
  waiting[answered](answer.body);
  waiting[answered++] = undefined;
};
const send = (body) => socket.send(JSON.stringify({ action: 'payment', body }));
const call = (body) => new Promise((resolve) => { waiting.push(resolve); send(body); });
""",
}
# The body that makes an envelope with an id 202 bytes of JSON. The amount is the message's number.
PAGE = """
(async () => {
const count = COUNT, callers = CALLERS;
let next = 0;
const body = () => ({ amount: 100000 + next++, transactionId: "tx-20240117-00000042", paymentId: "pay_5f3c9a",
                      paymentGoodsName: "Noise cancelling headphones" });
const caller = async () => { while (next <= count) await call(body()); };
await OPENING;
await call(body());
if (callers === 0) { while (next <= count) send(body()); }
for (let i = 0; i < callers; i++) caller();
})();
"""


def program(name):
    return os.path.join(PROGRAMS, name)


def count_of(engine, row):
    return MESSAGES if engine == "jsc" or row != ONE_CALL else AWAITED


def script(engine, row, bare, port=0):
    text = (BARE[engine] if bare else SIGNALBOX).replace("PORT", str(port))
    opening = "opening" if bare and engine == "browser" else "undefined"
    page = PAGE.replace("COUNT", str(count_of(engine, row))).replace("CALLERS", str(CALLERS[row]))
    return text + page.replace("OPENING", opening)


class Site:
    """Serves one page and its script, on loopback and any port."""

    def __init__(self):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kind, text = {
                    "/": ("text/html", '<!DOCTYPE html><title>Benchmark</title><script src="/page.js"></script>'),
                    "/page.js": ("text/javascript", site.script),
                }.get(self.path, ("text/plain", None))
                data = (text or "").encode()
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", kind + "; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.script = ""
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Running:
    """A child process that is always ended, by its id, on exit."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self):
        return self

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        text = self.process.stdout.readline() if ready else ""
        if not text:
            raise SystemExit(f"{self.process.args} printed nothing, status {self.process.poll()}")
        return text.split()

    def finish(self):
        """Waits until the process exits; its status is 0 if all messages arrived."""
        self.process.stdin.close()
        if self.process.wait(SECONDS) != 0:
            raise SystemExit(f"{self.process.args} ended with status {self.process.returncode}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Browser:
    """A headless Chromium with one page, in its own process group."""

    def __init__(self, url):
        self.profile = tempfile.mkdtemp(prefix="signalbox-benchmark-")
        own, given = os.pipe(), os.pipe()
        flags = BROWSER_FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
        # The browser reads its debugging pipe on descriptor 3 and writes on 4. It exits at the end of 3.
        command = f'exec "$@" 3<&{given[0]} 4>&{own[1]}'
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", browser_path(), *flags, f"--user-data-dir={self.profile}", url],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(given[0], own[1]), start_new_session=True,
        )
        os.close(given[0])
        os.close(own[1])
        self.ends = [given[1], own[0]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self.ends:
            os.close(end)
        # Before its leader is reaped, so that the id cannot be reused.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def browser_path():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


# Memory


def children(process):
    """Returns all descendants of a process."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            continue
    found, left = [], [process]
    while left:
        below = parents.get(left.pop(), [])
        found += below
        left += below
    return found


class Share:
    """A process's memory, in MB: its PSS, and the part of it that is not backed by files such as libraries."""

    def __init__(self, process=None):
        self.all = self.own = 0
        if process is None:
            return
        # The resident memory if this user may not read the PSS; nothing if the process has exited.
        for name, fields in (("smaps_rollup", ("Pss:", "Pss_Anon:")), ("status", ("VmRSS:", "RssAnon:"))):
            try:
                with open(f"/proc/{process}/{name}") as file:
                    lines = [line.split() for line in file]
            except OSError:
                continue
            sizes = {words[0]: int(words[1]) for words in lines if words[-1] == "kB"}
            self.all, self.own = [sizes.get(field, 0) * 1.024 / 1000 for field in fields]
            return

    def add(self, other):
        self.all += other.all
        self.own += other.own


def is_page(process):
    try:
        with open(f"/proc/{process}/cmdline") as file:
            line = file.read()
    except OSError:
        return False
    return "WebKitWebProcess" in line or "--type=renderer" in line


def memory(host, browser):
    """Returns the memory of the program, of the page's process, and of the engine's other processes."""
    shares = {"program": Share(host), "page": Share(), "others": Share()}
    helpers = children(host) + ([browser, *children(browser)] if browser else [])
    for helper in helpers:
        shares["page" if is_page(helper) else "others"].add(Share(helper))
    return shares


# Runs


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
        with Running(*command) as host:
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
    with Running(*([program(raw)] if bare else [program("EngineBenchmark"), engine]), count, place) as host:
        result = Result(host.line(), count)
        result.memory = memory(host.process.pid, None)
        host.finish()
    return result


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


# Tables


def median(values, digits=0):
    return f"{statistics.median(values):,.{digits}f}"


def ratio(ours, bare):
    value = statistics.median(one / other for one, other in zip(ours, bare))
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def table(*rows):
    print()
    for index, cells in enumerate(rows):
        print("| " + " | ".join(cells) + " |")
        if index == 0:
            print("|" + "---|" * len(cells))


class Rounds:
    def __init__(self, engines):
        self.engines = engines
        self.results = {(engine, row, bare): [] for engine in engines for row in CALLERS for bare in (True, False)}

    def of(self, engine, row, value):
        """Returns the bare engine's values and Signalbox's."""
        return [[value(one) for one in self.results[engine, row, bare]] for bare in (True, False)]

    def show(self):
        rows = [(engine, row) for engine in self.engines for row in CALLERS]
        table(
            ["messages a second", "bare engine", "Signalbox", "times the bare engine's time"],
            *[self.rate_row(engine, row) for engine, row in rows],
        )
        table(
            ["us a call, 1 in flight", "bare, p50", "Signalbox, p50", "times", "bare, p99", "Signalbox, p99", "times"],
            *[self.call_row(engine) for engine in self.engines],
        )
        table(
            ["ms to the first message", "bare engine", "Signalbox", "times"],
            *[self.first_row(engine) for engine in self.engines],
        )
        table(
            ["MB (not of files) after 20,000 one-way messages", "bare engine", "Signalbox", "times"],
            *[row for engine in self.engines for row in self.memory_rows(engine)],
        )

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
        print(f"the rows of {NAMES[engine]} are skipped: {why}")
    return why is None


def main():
    # Exits through the context managers, which end the child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if unknown := set(WANTED) - set(NAMES):
        raise SystemExit(f"unknown engine: {', '.join(sorted(unknown))}; known engines: {', '.join(NAMES)}")
    rounds = Rounds([engine for engine in WANTED if can_run(engine)])
    if not rounds.engines:
        return
    site = Site()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for (engine, row, bare), results in rounds.results.items():
                results.append(measure(engine, row, bare, site, folder))
    print(f"Engines of pages, 202 bytes, medians of {ROUNDS} rounds; {AWAITED:,} awaited calls outside JavaScriptCore, else")
    print(f"{MESSAGES:,} messages. The machine's load was {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end.")
    rounds.show()


main()
