import Foundation
import JSBridge
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import Synchronization
import WebKit

/// Notes from any thread, in order.
final class Notes: Sendable {
    private let notes = Mutex<[String]>([])

    var all: [String] { notes.withLock { $0 } }

    func add(_ note: String) {
        notes.withLock { $0.append(note) }
    }
}

/// Takes every arrival, notes it and answers 7.
final class Window: Intake {
    let taken = Notes()

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch {
            taken.add(Window.note(of: arrival))
            sink.mayAcknowledge(arrival.token)
            sink.settle(arrival.token, .handled(reply: Bytes("7")))
        }
        return batch.count
    }

    func room() async throws(SourceClosed) {}

    private static func note(of arrival: Arrival) -> String {
        let facts = arrival.origin.facts as? ScriptFacts
        let origin = facts?.origin.map { "\($0)" } ?? "unknown"
        let frame = facts?.isMainFrame.rawValue ?? ""
        switch arrival.reading {
        case .success(let action): return "\(action.name) from \(origin), main frame \(frame)"
        case .failure(let rejection): return "\(rejection.reason) from \(origin), main frame \(frame)"
        }
    }
}

/// An engine, its view, and the engine's calls to the view.
@MainActor final class Trial {
    static let page = WKFrameInfo(stubIsMain: true, host: "shop.example")

    let engine: WKWebViewEngine
    let window = Window()
    let verdicts = Notes()
    private var calls: AsyncStream<String>.Iterator

    init(change: (inout WebViewConfiguration) -> Void = { _ in }) throws {
        var page = BridgeConfigurator()
        page.set(userAgentSuffix: "Trial/1")
        page.set(title: "Shop")
        page.add(handler: BridgeHandler("user"))
        var configuration = WebViewConfiguration(
            source: "page",
            page: try page.build(url: URLText("https://shop.example/"))
        )
        change(&configuration)
        let verdicts = verdicts
        engine = try WKWebViewEngine(configuration, logger: Logger(label: "trial") { _ in SwiftLogNoOpLogHandler() }) {
            verdicts.add("\($0?.kind.rawValue ?? "none") \($1.policy) \($1.text)")
        }
        calls = engine.view.stubCalls.makeAsyncIterator()
    }

    var view: WKWebView { engine.view }
    var controller: WKUserContentController { view.configuration.userContentController }

    /// Returns the next call of the engine to its view.
    func nextCall() async -> String {
        var calls = calls
        defer { self.calls = calls }
        return await calls.next(isolation: MainActor.shared) ?? "nothing"
    }

    func begin() -> Task<String, Never> {
        let (engine, window) = (engine, window)
        return Task {
            do {
                try await engine.run(into: window)
                return "returned"
            } catch {
                return "threw \((error as? JSBridgeError)?.code.description ?? "\(error)")"
            }
        }
    }

    // MARK: - WebKit's calls

    func decide(
        _ text: String,
        _ type: WKNavigationType = .other,
        target: WKFrameInfo? = Trial.page
    ) async -> WKNavigationActionPolicy? {
        guard let url = URL(string: text) else { return nil }
        let action = WKNavigationAction(stubRequest: URLRequest(url: url), type: type, target: target)
        return await view.navigationDelegate?.webView(view, decidePolicyFor: action)
    }

    func commit(_ text: String) {
        view.stubURL = URL(string: text)
        view.navigationDelegate?.webView(view, didCommit: nil)
    }

    func relay(_ text: String, from frame: WKFrameInfo = Trial.page) {
        let message = WKScriptMessage(stubName: "signalbox", body: text, frame: frame)
        controller.stubHandlers["signalbox/signalbox"]?.userContentController(controller, didReceive: message)
    }

    func raw(_ body: Any, from frame: WKFrameInfo) async -> (Any?, String?)? {
        let message = WKScriptMessage(stubName: "user", body: body, frame: frame)
        return await controller.stubReplyHandlers["page/user"]?
            .userContentController(controller, didReceive: message)
    }
}
