#if canImport(WebKit)
import Foundation
import SignalboxCore
import WebKit

/// Passes messages from a script world to a closure. The content controller retains this object, so the closure must
/// not retain the page.
final class ScriptReceiver: NSObject, WKScriptMessageHandler {
    private let received: @MainActor (WKScriptMessage) -> Void

    init(_ received: @escaping @MainActor (WKScriptMessage) -> Void) {
        self.received = received
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) {
        received(message)
    }
}

/// Receives handler calls from the page's own world, in any frame, and settles their promises.
final class RawReceiver: NSObject, WKScriptMessageHandlerWithReply {
    private let run: WebViewRun

    init(_ run: WebViewRun) {
        self.run = run
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) async -> (Any?, String?) {
        guard let json = json(message.body) else {
            run.host.counters.add(to: \.rawCallsRefused)
            return (nil, "invalidArgument: the value is too deep or has no JSON form")
        }
        let name = message.name
        let answer = await withCheckedContinuation { waiting in
            run.receivedRaw(name, json) { waiting.resume(returning: $0) }
        }
        switch answer {
        case .reply(let json): return (RawReceiver.value(json), nil)
        case .error(let text): return (nil, text)
        }
    }

    /// Returns a value as JSON, or `nil` if the value is nested too deeply or has no JSON form, such as a date.
    private func json(_ body: Any) -> String? {
        guard isShallow(body), JSONSerialization.isValidJSONObject([body]),
            let data = try? JSONSerialization.data(withJSONObject: body, options: .fragmentsAllowed)
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns whether a value is shallow enough for a recursive JSON writer. A deep value could overflow the writer's
    /// stack.
    private func isShallow(_ body: Any) -> Bool {
        var left: [(value: Any, depth: Int)] = [(body, 1)]
        while let (value, level) = left.popLast() {
            let members: [Any]
            switch value {
            case let list as [Any]: members = list
            case let object as [String: Any]: members = Array(object.values)
            default: continue
            }
            guard level <= run.host.configuration.limits.depth else { return false }
            left += members.map { ($0, level + 1) }
        }
        return true
    }

    private static func value(_ json: String) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
    }
}
#endif
