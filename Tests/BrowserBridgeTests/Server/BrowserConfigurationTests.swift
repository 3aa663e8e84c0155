import Logging
import SignalboxCore
import Testing
import WebSocketChat

@testable import BrowserBridge

@Suite struct BrowserConfigurationTests {
    private static func fault(_ change: (inout BrowserConfiguration) -> Void) -> String? {
        var configuration = BrowserConfiguration(source: "browser")
        change(&configuration)
        do throws(BrowserBridgeError) {
            _ = try BrowserEngine(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            return nil
        } catch {
            #expect(error.code == .invalidConfiguration && error.source == "browser")
            return error.detail
        }
    }

    @Test func everyRangeIsChecked() {
        let changes: [(Bool, @Sendable (inout BrowserConfiguration) -> Void)] = [
            (true, { _ in }), (false, { $0.connections = 0 }), (true, { $0.connections = 100_000 }),
            (false, { $0.connections = 100_001 }), (false, { $0.messagesInFlight = 0 }),
            (true, { $0.messagesInFlight = 4_000 }), (false, { $0.messagesInFlight = 4_001 }),
            (false, { $0.messagesWaitingInPage = 0 }), (false, { $0.messagesWaitingInPage = 1_000_001 }),
            (false, { $0.messagesToPage = 0 }), (false, { $0.messagesWithoutListener = 0 }),
            (false, { $0.connectionPatience = .zero }), (false, { $0.reconnectCap = .seconds(3_601) }),
            (false, { $0.limits = MessageLimits(bytes: 1 << 30) }),
            (true, { $0.limits = MessageLimits(bytes: 1 << 30 - 1 << 20) }),
            (false, { $0.waitingBytes = 1_023 }), (false, { $0.allWaitingBytes = 1 }),
            (false, { $0.address = "localhost" }), (false, { $0.address = "::" }), (false, { $0.address = "0.0.0.0" }),
            (
                true,
                {
                    $0.address = "::"
                    $0.host = "shop.example"
                }
            ), (false, { $0.host = "shop.example:80" }), (false, { $0.host = "shop.example/" }),
            (false, { $0.host = "user@shop.example" }), (false, { $0.host = "" }), (true, { $0.address = "::1" }),
            (false, { $0.documents["/signalbox.js"] = .script("") }), (false, { $0.documents["page"] = .page("") }),
            (true, { $0.documents["/signalbox"] = .page("") }),
            (false, { $0.documents["/"] = .script(String(repeating: "x", count: 1 << 20 + 1)) }),
            (
                false,
                {
                    for number in 0..<100 { $0.documents["/\(number)"] = .page("") }
                }
            ),
            (
                true,
                {
                    for number in 0..<99 { $0.documents["/\(number)"] = .page("") }
                }
            ),
        ]
        for (index, (isFine, change)) in changes.enumerated() {
            #expect((Self.fault(change) == nil) == isFine, "\(index)")
        }
    }

    @Test func theServerReadsAPageThatKeepsToItsWindowAlways() {
        var configuration = BrowserConfiguration(source: "browser")
        configuration.messagesInFlight = 10
        let server = configuration.server(showing: .text("0123456789abcdef"))
        // It reads again when half of its window is free.
        #expect(server.connectionWindow / 2 > configuration.messagesInFlight)
        #expect(server.limits.bytes >= configuration.limits.bytes + PageFrame.longestLine)
        #expect(server.absentOrigin == .refused && !server.queryTokens && server.healthPath == nil)
    }

    @Test func onlyTheBridgeIsForOtherSites() {
        let configuration = BrowserConfiguration(source: "browser", documents: ["/": .page("<p>"), "/a": .script("1")])
        let pages = configuration.server(showing: .text("0123456789abcdef")).pages
        #expect(pages.mapValues(\.policy) == ["/": .site, "/a": .site, "/signalbox.js": .shared])
        #expect(pages["/a"]?.body == Array("1".utf8))
        #expect(pages["/"]?.body.starts(with: Array("<script src=".utf8)) == true)
    }
}
