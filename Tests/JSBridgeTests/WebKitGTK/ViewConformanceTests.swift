#if WebKitGTK
import BrokerKit
import Foundation
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    @Suite struct ViewConformanceTests {
        @Test func aWebViewConforms() async {
            let report = await Self.suite.run()
            #expect(report.isConforming, "\(report)")
            #expect(report.passed == AdapterConformance.Case.allCases)
        }

        @Test func someConcurrentCasesConform() async {
            let report = await Self.suite.stress(times: 2, atOnce: 4)
            #expect(report.isConforming, "\(report)")
        }

        private static let suite = AdapterConformance { source in try ViewSubject(source) }
    }
}

/// A page in a web view that makes the requested calls and reports each answer to its server before it continues.
struct ViewSubject: ConformanceSubject {
    private struct Order: Encodable {
        let action: String
        let id: String
        let body: String
    }

    private static let script = """
        const tell = (id, kind, value) => {
          const request = new XMLHttpRequest();
          request.open('GET', '/answer?' + [id, kind, value].map(encodeURIComponent).join('&'), false);
          request.send();
        };
        signalbox.on('conformance.send', (orders) => {
          for (const { action, id, body } of orders) {
            signalbox.call(action, JSON.parse(body), { id }).then(
              (reply) => tell(id, 'reply', JSON.stringify(reply)),
              (error) => tell(id, 'error', error.code),
            );
          }
        });
        """

    let adapter: any Adapter
    /// The maximum number of records that the relay posts at once.
    let batchBound = 256
    private let engine: WebKitGTKEngine
    private let site: WebSite

    init(_ source: SourceName) throws {
        site = try WebSite()
        site.set("/", .html("<script>\(ViewSubject.script)</script>"))
        site.set("/answer", .html(""))
        let page = try BridgeConfigurator().build(url: URLText("\(site.origin)/"))
        var configuration = WebViewConfiguration(source: source, page: page)
        configuration.limits = MessageLimits(bytes: 1_024 * 1_024)
        configuration.navigationDeadline = .seconds(600)
        configuration.unresponsiveLimit = .seconds(600)
        configuration.gracefulCloseTimeout = .seconds(600)
        engine = try WebKitGTKEngine(configuration, logger: Logger(label: "view") { _ in SwiftLogNoOpLogHandler() })
        adapter = engine
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let orders = messages.map { message in
            Order(action: message.action?.text ?? "no action", id: message.id.text, body: message.body)
        }
        try await engine.page.call("conformance.send", orders, timeout: .seconds(600))
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-_.!~*'()"))
        let name = try #require(id.text.addingPercentEncoding(withAllowedCharacters: allowed))
        let head = try await site.request(containing: "/answer?\(name)&")
        let parts = head.split(separator: " ")[1].split(separator: "?")[1].split(
            separator: "&",
            omittingEmptySubsequences: false
        )
        let value = parts[2].removingPercentEncoding ?? ""
        return parts[1] == "reply" ? .reply(Bytes(value)) : .error(code: value)
    }

    func end() async {
        engine.page.close()
        site.close()
    }
}
#endif
