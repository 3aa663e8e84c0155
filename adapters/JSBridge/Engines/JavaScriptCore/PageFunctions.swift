#if JavaScriptCore
import AdapterSupport
import Logging
import SignalboxCore

/// Holds the functions of bridge.js and headless.js that the page's thread calls, and creates the native functions that
/// those scripts use.
struct PageFunctions {
    private let context: ScriptContext
    private let reply: ScriptObject
    private let refuse: ScriptObject
    private let accepted: ScriptObject
    private let receive: ScriptObject
    private let closeAll: ScriptObject
    private let fire: ScriptObject
    private let describing: ScriptObject

    /// Sets up the page's globals.
    ///
    /// - Throws: `noResources` if there is not enough memory.
    init(_ page: HeadlessPage) throws(JSBridgeError) {
        context = page.context
        let natives = PageFunctions.natives(of: page)
        let headless = PageFunctions.start(PackageResources.headless_js, "signalbox:headless.js", context, natives)
        guard let natives, let headless else { throw PageFunctions.noMemory(page) }
        for name in ["setTimeout", "clearTimeout"] {
            if let function = context.member(name, of: headless) {
                context.set(name, of: natives, to: .object(function))
            }
        }
        guard let bridge = PageFunctions.start(PackageResources.bridge_js, "signalbox:bridge.js", context, natives),
            let reply = context.member("reply", of: bridge), let refuse = context.member("refuse", of: bridge),
            let accepted = context.member("accepted", of: bridge),
            let receive = context.member("receive", of: bridge), let close = context.member("close", of: bridge),
            let fire = context.member("fire", of: headless), let describe = context.member("describe", of: headless),
            let rejected = context.member("rejected", of: headless)
        else { throw PageFunctions.noMemory(page) }
        context.callOnRejection(rejected)
        self.reply = reply
        self.refuse = refuse
        self.accepted = accepted
        self.receive = receive
        closeAll = close
        self.fire = fire
        describing = describe
    }

    private static func start(
        _ script: [UInt8],
        _ name: String,
        _ context: ScriptContext,
        _ natives: ScriptObject?
    ) -> ScriptObject? {
        guard let natives,
            case .returned(let value) = context.evaluate(String(decoding: script, as: UTF8.self), name: name),
            let function = context.keep(value),
            case .returned(let functions) = context.call(function, .object(natives))
        else { return nil }
        return context.keep(functions)
    }

    private static func noMemory(_ page: HeadlessPage) -> JSBridgeError {
        JSBridgeError(
            .noResources,
            "there is not enough memory for a page's functions",
            source: page.configuration.source
        )
    }

    // MARK: - Calling the page

    func notify(_ number: UInt64, _ notice: PageNotice) -> ScriptResult {
        switch notice {
        case .accepted: context.call(accepted, .number(Double(number)))
        case .outcome(let outcome): settle(number, outcome)
        }
    }

    private func settle(_ number: UInt64, _ outcome: Outcome) -> ScriptResult {
        guard case .handled(let answer) = outcome else {
            let refusal = ErrorReply(outcome, to: "page")
            return context.call(
                refuse,
                .number(Double(number)),
                .text(refusal.code),
                .text(refusal.message),
                refusal.path.map { .text($0) } ?? .undefined,
                .text(refusal.outcome)
            )
        }
        return context.call(reply, .number(Double(number)), answer.map { .utf8($0) } ?? .undefined)
    }

    func deliver(_ message: PageMessage) -> ScriptResult {
        context.call(
            receive,
            .text(message.action.text),
            message.id.map { .text($0.text) } ?? .null,
            .utf8(message.body),
            .number(Double(message.number))
        )
    }

    func fireTimer(_ id: Int) -> ScriptResult {
        context.call(fire, .number(Double(id)))
    }

    func close() -> ScriptResult {
        context.call(closeAll, .text("the page is closing"))
    }

    /// Returns a description of a thrown value.
    func describe(_ thrown: ScriptValue) -> String {
        guard case .returned(let value) = context.call(describing, .value(thrown)) else {
            return "an error without text"
        }
        return context.text(of: value, atMost: PageLogText.maximumLength) ?? "an error without text"
    }
}

extension PageFunctions {
    /// Creates the native functions for bridge.js and headless.js. They are called on the page's thread, from within
    /// JavaScript.
    static func natives(of page: HeadlessPage) -> ScriptObject? {
        let context = page.context
        guard let natives = context.makeObject() else { return nil }
        context.set("timerLimit", of: natives, to: .number(Double(page.configuration.timerLimit)))
        let held = Double(page.configuration.messagesWithoutListener)
        context.set("messagesWithoutListener", of: natives, to: .number(held))
        // The page outlives its context, so it also outlives every call to these functions.
        addTimers(natives, page)
        addLog(natives, page)
        addMessages(natives, page)
        return natives
    }

    private static func addTimers(_ natives: ScriptObject, _ page: HeadlessPage) {
        page.context.set("schedule", of: natives) { [unowned page] call in
            guard let id = call.number(0).flatMap(Int.init(exactly:)), let delay = call.number(1), delay.isFinite
            else { return }
            page.timers.schedule(id, due: .now + .milliseconds(min(max(delay, 0), longestDelay)))
            page.endScriptIfClosing()
        }
        page.context.set("cancel", of: natives) { [unowned page] call in
            guard let id = call.number(0).flatMap(Int.init(exactly:)) else { return }
            page.timers.cancel(id)
        }
    }

    /// The maximum delay in milliseconds, as in browsers. The script enforces a limit too, but the page can change that
    /// one.
    private static let longestDelay = 2_147_483_647.0

    private static func addLog(_ natives: ScriptObject, _ page: HeadlessPage) {
        page.context.set("log", of: natives) { [unowned page] call in
            let text = call.text(1)?.text(atMost: PageLogText.maximumLength) ?? ""
            page.log.console(level(call.text(0)?.text() ?? ""), text)
            page.endScriptIfClosing()
        }
        page.context.set("failed", of: natives) { [unowned page] call in
            // Rejections caused by the end of the page are not script errors.
            guard !page.context.limit.isLastTurn, let text = call.text(0)?.text(atMost: PageLogText.maximumLength)
            else {
                return
            }
            page.log.failed(text)
        }
        page.context.set("warn", of: natives) { [unowned page] call in
            guard let text = call.text(0)?.text(atMost: PageLogText.maximumLength) else { return }
            page.log.warn(text)
        }
    }

    private static func addMessages(_ natives: ScriptObject, _ page: HeadlessPage) {
        page.context.set("post", of: natives) { [unowned page] call in
            guard let json = call.text(1), let number = call.number(2).flatMap(UInt64.init(exactly:)) else { return }
            page.post(call.text(0)?.text(atMost: 256), json, number: number, timeout: call.number(3) ?? 0)
            page.endScriptIfClosing()
        }
        page.context.set("answer", of: natives) { [unowned page] call in
            guard let number = call.number(0).flatMap(UInt64.init(exactly:)) else { return }
            page.answered(number, call.text(1)?.text() ?? "", call.text(2))
        }
    }

    private static func level(_ name: String) -> Logger.Level {
        switch name {
        case "debug": .debug
        case "warn": .warning
        case "error": .error
        default: .info
        }
    }
}
#endif
