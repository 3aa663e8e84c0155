import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import JSBridge

/// A view without a library. Its documents are contexts of JavaScriptCore with relay.js, page.js and bridge.js. The
/// actor stands for an engine's thread.
actor FakeView {
    private let scripts: WebViewScripts
    private let isWebKitFixed: Bool
    let reports = EventList<String>()
    private var run: WebViewRun?
    private var context: ScriptContext?
    private let outbox = Outbox()
    /// The scripts that an unresponsive page has been given.
    private var held: [String] = []
    private var isHanging = false
    /// The maximum number of scripts that were in progress at once.
    private(set) var mostHeld = 0

    private final class Outbox {
        var texts: [String] = []
    }

    init(_ configuration: WebViewConfiguration, isWebKitFixed: Bool) {
        scripts = WebViewScripts(configuration)
        self.isWebKitFixed = isWebKitFixed
    }

    /// Performs the run's requests until its end.
    func serve(_ run: WebViewRun, _ surface: FakeSurface) async {
        self.run = run
        for await command in surface.commands {
            switch command {
            case .wake: pump()
            case .end:
                discardDocument()
                run.surfaceEnded()
                return
            }
        }
    }

    private func discardDocument() {
        context?.release()
        context = nil
        held = []
    }

    // MARK: - Documents

    /// Loads a page of the origin and discards the one before.
    func load(_ origin: String, isOpaque: Bool, run: WebViewRun) throws {
        self.run = run
        discardDocument()
        run.committed()
        let context = try #require(ScriptContext(limit: TurnLimit(.seconds(600)) { false }))
        self.context = context
        let natives = try #require(context.makeObject())
        context.set("post", of: natives) { [outbox] call in outbox.texts.append(call.text(0)?.text() ?? "no text") }
        context.set("report", of: natives) { [reports] call in reports.append(call.text(0)?.text() ?? "no text") }
        guard
            case .returned(let value) = context.evaluate(
                FakeDocument.before(origin: origin, isOpaque: isOpaque),
                name: "fake"
            )
        else {
            throw ScriptFailed()
        }
        _ = context.call(try #require(context.keep(value)), .object(natives))
        try execute(scripts.relay, "relay.js")
        try execute(FakeDocument.between(isWebKitFixed: isWebKitFixed), "between")
        try execute(scripts.page, "page.js")
        if case .returned(let value) = context.evaluate("fake.rejected", name: "fake"),
            let rejected = context.keep(value)
        {
            context.callOnRejection(rejected)
        }
        deliver()
    }

    /// Injects the scripts again into the same document.
    func injectAgain() throws {
        for (script, name) in [(scripts.relay, "relay.js"), (scripts.page, "page.js")] { try execute(script, name) }
        deliver()
    }

    /// Ends the page's process.
    func crash() {
        discardDocument()
        run?.processEnded()
    }

    /// Makes the page unresponsive. Its scripts wait.
    func hang() {
        isHanging = true
    }

    func revive() {
        isHanging = false
        let scripts = held
        held = []
        for script in scripts { evaluate(script) }
        pump()
    }

    // MARK: - JavaScript

    /// Runs a script of the page, and the work that it schedules without delay.
    func evaluate(script: String) throws {
        try execute(script, "page")
        settle()
    }

    /// Fires every timer.
    func fireTimers() throws {
        try execute("fake.fire(true)", "fake")
        settle()
    }

    private func settle() {
        _ = context?.evaluate("fake.fire(false)", name: "fake")
        deliver()
    }

    struct ScriptFailed: Error {}

    private func execute(_ script: String, _ name: String) throws {
        guard let context else { throw ScriptFailed() }
        guard case .threw(let thrown) = context.evaluate(script, name: name) else { return }
        if case .returned(let text) = context.call(
            try #require(context.keep(thrown.asMessage(context))),
            .undefined
        ) {
            Issue.record("\(name): \(context.text(of: text, atMost: 500) ?? "no text")")
        }
        throw ScriptFailed()
    }

    /// Passes the texts posted by relay.js to the run after the script, as another process would.
    private func deliver() {
        let texts = outbox.texts
        outbox.texts = []
        for text in texts { run?.received(text) }
    }

    private func pump() {
        while let script = run?.nextScript() {
            if isHanging {
                held.append(script)
                mostHeld = max(mostHeld, held.count)
            } else {
                evaluate(script)
            }
        }
    }

    private func evaluate(_ script: String) {
        if let context, case .threw = context.evaluate(script, name: "signalbox:relay") {
            reports.append("a script of the program threw")
        }
        settle()
        run?.scriptDone()
    }
}

extension ScriptValue {
    /// Returns a function that returns the error's text.
    fileprivate func asMessage(_ context: ScriptContext) -> ScriptValue {
        guard case .returned(let make) = context.evaluate("(e) => () => String(e) + ' ' + e.line", name: "fake"),
            let maker = context.keep(make), case .returned(let function) = context.call(maker, .value(self))
        else { return context.undefined }
        return function
    }
}

/// A surface that passes on a run's requests.
final class FakeSurface: WebViewSurface {
    enum Command: Sendable { case wake, end }

    let commands: AsyncStream<Command>
    private let continuation: AsyncStream<Command>.Continuation

    init() {
        (commands, continuation) = AsyncStream.makeStream(of: Command.self)
    }

    func wake() {
        continuation.yield(.wake)
    }

    func end() {
        continuation.yield(.end)
    }
}

/// The browser API of a test's page: a document and a window with listeners, two kinds of events, timers that the test
/// fires, and WebKit's own read-only names. WebKit's two worlds share one scope, because only events pass between them.
enum FakeDocument {
    /// Returns the script before relay.js. `native` has `post(text)` and `report(text)`.
    ///
    /// - Parameters:
    ///   - origin: The origin of the URL.
    ///   - isOpaque: Whether the document has no origin, as in a sandbox.
    static func before(origin: String, isOpaque: Bool) -> String {
        """
        (function (native) {
        class CustomEvent {
          #detail;
          defaultPrevented = false;
          constructor(type, { detail = null, cancelable = false } = {}) {
            Object.assign(this, { type, cancelable });
            this.#detail = detail;
          }
          get detail() { return this.#detail; }
          preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
        }
        class PromiseRejectionEvent {
          #reason;
          constructor(type, { promise, reason }) {
            Object.assign(this, { type, promise });
            this.#reason = reason;
          }
          get reason() { return this.#reason; }
        }
        const show = (error) => String(error && error.message || error);
        const all = new Map();
        const listeners = (target, type) => {
          if (!all.has(target)) all.set(target, new Map());
          if (!all.get(target).has(type)) all.get(target).set(type, new Set());
          return all.get(target).get(type);
        };
        class EventTarget {
          addEventListener(type, listener) { listeners(this, type).add(listener); }
          dispatchEvent(event) {
            for (const listener of [...listeners(this, event.type)]) {
              try { listener(event); } catch (error) { native.report('a listener threw: ' + show(error)); }
            }
            return !event.defaultPrevented;
          }
        }
        const { addEventListener, dispatchEvent } = EventTarget.prototype;
        const tell = (event) => dispatchEvent.call(globalThis, event);
        const timers = [];
        Object.assign(globalThis, {
          CustomEvent, EventTarget, PromiseRejectionEvent, location: { origin: '\(origin)' },
          origin: '\(isOpaque ? "null" : origin)', document: new EventTarget(),
          addEventListener: addEventListener.bind(globalThis),
          crypto: { getRandomValues: (bytes) => bytes.map(() => Math.floor(Math.random() * 256)) },
          setTimeout(work, delay) { return timers.push({ work, delay }); },
          clearTimeout(id) { if (timers[id - 1]) timers[id - 1].work = undefined; },
          report: (value) => native.report(typeof value === 'string' ? value : JSON.stringify(value)),
          fake: {
            // What is due without waiting, or all.
            fire(isAll) {
              for (let i = 0; i < timers.length; i += 1) {
                const { work, delay } = timers[i];
                if (!work || (delay > 0 && !isAll)) continue;
                timers[i].work = undefined;
                try { work(); } catch (error) { fake.failed(show(error)); }
              }
            },
            failed: (message) =>
              tell({ type: 'error', message, filename: 'https://app.example/a.js?secret=1', lineno: 3, colno: 4 }),
            rejected: (promise, reason) =>
              tell(new PromiseRejectionEvent('unhandledrejection', { promise, reason })),
            openAnew() { all.clear(); },
            comeBack: () => tell({ type: 'pageshow', persisted: true }),
          },
          webkit: { messageHandlers: { signalbox: { postMessage: native.post } } },
        });
        })
        """
    }

    /// Returns the script between relay.js and page.js. WebKit's own names in the page's world lead past the bridge.
    static func between(isWebKitFixed: Bool) -> String {
        """
        delete globalThis.webkit;
        class WebKitNamespace { get messageHandlers() { return { page: 'raw', user: 'raw' }; } }
        const namespace = new WebKitNamespace();
        Object.defineProperty(globalThis, 'webkit', { get: () => namespace, enumerable: true, configurable: \(!isWebKitFixed) });
        """
    }
}
