#if canImport(WebKit)
import Foundation
import WebKit

/// Hears relay.js, in the private world. The content controller keeps it, and it does not keep the page.
final class RelayReceiver: NSObject, WKScriptMessageHandler {
    private weak var page: WebViewPage?

    init(_ page: WebViewPage) {
        self.page = page
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) {
        guard let text = message.body as? String else { return }
        let frame = message.frameInfo
        page?.received(text, isMainFrame: frame.isMainFrame, from: frame.securityOrigin)
    }
}

/// Hears calls of the handlers in the page's own world, from whatever frame, and settles their promises.
final class RawReceiver: NSObject, WKScriptMessageHandlerWithReply {
    private let run: WebViewRun
    private let counters: WebViewCounters
    private let depth: Int

    /// - Parameter depth: how deep a value may be.
    init(_ run: WebViewRun, counters: WebViewCounters, depth: Int) {
        self.run = run
        self.counters = counters
        self.depth = depth
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) async -> (Any?, String?) {
        guard let json = json(message.body) else {
            counters.add(to: \.rawCallsRefused)
            return (nil, "invalidArgument: the value is too deep, or has no JSON form")
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

    /// A value as the engine gives it, or `nil` for one that is too deep or that JSON does not know, such as a date.
    private func json(_ body: Any) -> String? {
        guard isShallow(body), JSONSerialization.isValidJSONObject([body]),
            let data = try? JSONSerialization.data(withJSONObject: body, options: .fragmentsAllowed)
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// Looked at first, as a writer that calls itself for each level could be made to use up its stack.
    private func isShallow(_ body: Any) -> Bool {
        var left: [(value: Any, depth: Int)] = [(body, 1)]
        while let (value, level) = left.popLast() {
            let members: [Any]
            switch value {
            case let list as [Any]: members = list
            case let object as [String: Any]: members = Array(object.values)
            default: continue
            }
            guard level <= depth else { return false }
            left += members.map { ($0, level + 1) }
        }
        return true
    }

    private static func value(_ json: String) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
    }
}

/// Hears ``TitleScript``. The content controller keeps it, and it does not keep the page.
final class TitleReceiver: NSObject, WKScriptMessageHandler {
    private weak var page: WebViewPage?

    init(_ page: WebViewPage) {
        self.page = page
        super.init()
    }

    func userContentController(
        _ userContentController: WKUserContentController,
        didReceive message: WKScriptMessage
    ) {
        page?.titleChanged()
    }
}
#endif
