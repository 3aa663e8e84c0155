"""The pages of the engine rows: the same messages for Signalbox and for the bare engines, and a server for them."""
import http.server
import threading

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
