#if WebKitGTK
import BrokerKit
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    /// One page floods its view, and another view still works.
    @Suite struct FloodTests {
        private static let pages = [
            "/": WebTrial.page(
                "report(0); let n = 0; signalbox.on('next', () => { location.href = '/?' + (n += 1); });"
            )
        ]

        @Test(arguments: ["{ i }", "'x'.repeat(4000000)", "Array(100000).fill([1, { a: 2 }])"])
        func aForeignPagesRawCallsDoNotHoldAnotherViewUp(value: String) async throws {
            let flood = try WebTrial(
                home: ["/": WebTrial.page("location.href = '{other}/flood';")],
                other: [
                    "/flood": .html(
                        """
                        <script>
                        const turn = () => {
                          for (let i = 0; i < 1000; i += 1) {
                            webkit.messageHandlers.pay.postMessage(\(value)).catch(() => {});
                          }
                          setTimeout(turn);
                        };
                        turn();
                        </script>
                        """
                    )
                ],
                build: { $0.add(handler: BridgeHandler("pay")) },
                configure: Self.doNotWait
            )
            try await flood.run {
                try await flood.other.request(containing: "/flood")
                while flood.supervisor.report.total.rejected == 0, !Task.isCancelled { await Task.yield() }
                try await Self.navigate()
                await flood.hears("posts too much to handlers")
                #expect(flood.supervisor.report.total.handled == 0)
            }
            #expect(flood.supervisor.report.unsettled == 0)
        }

        @Test(arguments: [
            "document.title = 'title ' + i", "location.hash = i", "alert(i)",
            "console.error(i); reportError(new Error(i))",
            "document.body.append(document.createElement('iframe'))",
        ])
        func whatElseAPageDoesWithoutEndDoesNotEither(statement: String) async throws {
            let flood = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        report('flood');
                        let i = 0;
                        const turn = () => {
                          for (const end = i + 100; i < end; i += 1) { \(statement); }
                          setTimeout(turn);
                        };
                        addEventListener('load', turn);
                        """
                    )
                ],
                configure: Self.doNotWait
            )
            try await flood.run {
                _ = await flood.reports.first(1)
                try await Self.navigate()
            }
            #expect(flood.supervisor.report.unsettled == 0)
        }

        @Test func aTrustedPagesCallsWaitInThePage() async throws {
            let flood = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        report('flood');
                        const turn = () => {
                          for (let i = 0; i < 1000; i += 1) signalbox.call('slow', i).catch(() => {});
                          setTimeout(turn);
                        };
                        turn();
                        """
                    )
                ],
                configure: {
                    Self.doNotWait(&$0)
                    $0.messagesInFlight = 20
                    $0.messagesWaitingInPage = 500
                }
            )
            let gate = Gate()
            try flood.supervisor.register("slow", as: Int.self, from: .script()) { _, _ in await gate.pass() }
            try await flood.run {
                await gate.untilArrived(1)
                try await Self.navigate()
                #expect(flood.supervisor.report.unsettled <= 20)
                while flood.engine.counts.callsFullInPage == 0, !Task.isCancelled { await Task.yield() }
                gate.open()
            }
        }

        /// A page that floods may never come to its last words.
        private static func doNotWait(_ configuration: inout WebViewConfiguration) {
            configuration.lastWords = .seconds(2)
        }

        /// Leads a page of its own through ten documents.
        private static func navigate() async throws {
            let calm = try WebTrial(home: pages)
            try await calm.run {
                for count in 1...10 {
                    _ = await calm.reports.first(count)
                    try calm.engine.page.send("next", id: nil, body: Bytes("1"))
                }
                _ = await calm.reports.first(11)
            }
        }
    }
}
#endif
