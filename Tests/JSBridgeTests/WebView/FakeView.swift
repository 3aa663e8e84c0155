import SignalboxTesting
import Synchronization
import Testing

@testable import JSBridge

/// A view without a library: documents are contexts of JavaScriptCore, with relay.js, page.js and bridge.js in them. The
/// actor is what an engine's thread is.
actor FakeView {
    private let scripts: WebViewScripts
    private let isWebKitFixed: Bool
    let reports = EventList<String>()
    private var run: WebViewRun?
    private var context: ScriptContext?
    private let outbox = Outbox()
    /// Scripts that a page which does not react has been given.
    private var held: [String] = []
    private var isHanging = false
    /// The most scripts that were under way at once.
    private(set) var mostHeld = 0

    private final class Outbox {
        var texts: [String] = []
    }

    init(_ configuration: WebViewConfiguration, isWebKitFixed: Bool) {
        scripts = WebViewScripts(configuration)
        self.isWebKitFixed = isWebKitFixed
    }

    /// Does what the run asks for, until its end.
    func serve(_ run: WebViewRun, _ surface: FakeSurface) async {
        self.run = run
        for await wish in surface.wishes {
            switch wish {
            case .wake: pump()
            case .end:
                letGo()
                run.surfaceEnded()
                return
            }
        }
    }

    private func letGo() {
        context?.release()
        context = nil
        held = []
    }

    // MARK: - Documents

    /// Loads a page of the origin; the one before it is gone.
    func load(_ origin: String, isOpaque: Bool, run: WebViewRun) throws {
        self.run = run
        letGo()
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

    /// The injected scripts once more, in the same document.
    func injectAgain() throws {
        for (script, name) in [(scripts.relay, "relay.js"), (scripts.page, "page.js")] { try execute(script, name) }
        deliver()
    }

    /// The page's process ends.
    func crash() {
        letGo()
        run?.processEnded()
    }

    /// The page does not react any more; what it is given waits.
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

    /// Runs a script of the page, and what follows from it without waiting.
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

    /// What relay.js posted reaches the run after the script, as from another process.
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
    /// A function that gives this error's words.
    fileprivate func asMessage(_ context: ScriptContext) -> ScriptValue {
        guard case .returned(let make) = context.evaluate("(e) => () => String(e) + ' ' + e.line", name: "fake"),
            let maker = context.keep(make), case .returned(let function) = context.call(maker, .value(self))
        else { return context.undefined }
        return function
    }
}
