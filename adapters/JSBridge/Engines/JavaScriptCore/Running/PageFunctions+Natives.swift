import Logging
import SignalboxCore

extension PageFunctions {
    /// What bridge.js and headless.js may call. They run on the page's thread, inside JavaScript.
    static func natives(of page: HeadlessPage) -> ScriptObject? {
        let context = page.context
        guard let natives = context.makeObject() else { return nil }
        context.set("timerLimit", of: natives, to: .number(Double(page.configuration.timerLimit)))
        let held = Double(page.configuration.messagesWithoutListener)
        context.set("messagesWithoutListener", of: natives, to: .number(held))
        // The page outlives its context, and so every call of these.
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
            page.heedClose()
        }
        page.context.set("cancel", of: natives) { [unowned page] call in
            guard let id = call.number(0).flatMap(Int.init(exactly:)) else { return }
            page.timers.cancel(id)
        }
    }

    /// In milliseconds: what browsers allow. The script has its own such bound, but it is the page's to break.
    private static let longestDelay = 2_147_483_647.0

    private static func addLog(_ natives: ScriptObject, _ page: HeadlessPage) {
        page.context.set("log", of: natives) { [unowned page] call in
            let text = call.text(1)?.text(atMost: LineText.longest) ?? ""
            page.log.console(level(call.text(0)?.text() ?? ""), text)
            page.heedClose()
        }
        page.context.set("failed", of: natives) { [unowned page] call in
            // What the end of the page rejects is no error of the page.
            guard !page.context.limit.isLastTurn, let text = call.text(0)?.text(atMost: LineText.longest) else {
                return
            }
            page.log.failed(text)
        }
        page.context.set("warn", of: natives) { [unowned page] call in
            guard let text = call.text(0)?.text(atMost: LineText.longest) else { return }
            page.log.warn(text)
        }
    }

    private static func addMessages(_ natives: ScriptObject, _ page: HeadlessPage) {
        page.context.set("post", of: natives) { [unowned page] call in
            guard let json = call.text(1), let number = call.number(2).flatMap(UInt64.init(exactly:)) else { return }
            page.calls.post(call.text(0)?.text(atMost: 256), json, number: number, timeout: call.number(3) ?? 0)
            page.heedClose()
        }
        page.context.set("answer", of: natives) { [unowned page] call in
            guard let number = call.number(0).flatMap(UInt64.init(exactly:)) else { return }
            page.answered(number, call.text(1)?.text() ?? "", call.text(2))
        }
    }

    private static func level(_ word: String) -> Logger.Level {
        switch word {
        case "debug": .debug
        case "warn": .warning
        case "error": .error
        default: .info
        }
    }
}
