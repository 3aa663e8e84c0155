import JSBridge
import Logging
import SignalboxCore
import Testing
import WebSocketChat

@testable import BrowserBridge

@Suite struct BrowserConfigurationTests {
    private static func problem(_ change: (inout BrowserConfiguration) -> Void) -> String? {
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
            (false, { $0.connectionTimeout = .zero }), (false, { $0.reconnectCap = .seconds(3_601) }),
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
            #expect((Self.problem(change) == nil) == isFine, "\(index)")
        }
    }

    @Test func theServerAlwaysReadsAPageWithinItsWindow() {
        var configuration = BrowserConfiguration(source: "browser")
        configuration.messagesInFlight = 10
        let server = configuration.server(token: .text("0123456789abcdef"))
        // The server reads again when half of its window is free.
        #expect(server.connectionWindow / 2 > configuration.messagesInFlight)
        #expect(server.limits.bytes >= configuration.limits.bytes + PageFrame.longestLine)
        #expect(server.absentOrigin == .refused && !server.queryTokens && server.healthPath == nil)
    }

    @Test func onlyTheBridgeIsSharedWithOtherSites() {
        let configuration = BrowserConfiguration(source: "browser", documents: ["/": .page("<p>"), "/a": .script("1")])
        let pages = configuration.server(token: .text("0123456789abcdef")).pages
        #expect(pages.mapValues(\.policy) == ["/": .site, "/a": .site, "/signalbox.js": .shared])
        #expect(pages["/a"]?.body == Array("1".utf8))
        #expect(pages["/"]?.body.starts(with: Array("<script src=".utf8)) == true)
    }
}

@Suite struct ScriptTagTests {
    private static let tag = #"<script src="/signalbox.js"></script>"#

    // `|` marks the expected position of the tag.
    @Test(arguments: [
        "|", "|text", "|<p>hi", "<!doctype html>|<p>", "<!DOCTYPE html>\n<html>\n<head>|\n<title>", "<html>|<body>",
        "<HTML LANG=en><HEAD>|<script>", "<html data-x='a>b' data-y=\"c>d\">|x", "<html data-x=a'b>|'x",
        "<head\n>|<script src=x>",
        "<!-- <head> --><head>|</head>", "<!-->|<head-x>", "<!---><head>|", "<!-- a --!><html>|",
        "<?xml version='1.0'?><html>|",
        "<head/>|", "|<header>", "<html>|<!-- never closed <head>", "<html>|<head", "|<html", "<!doctype html>|<heads>",
        "<html><!-- x -->\n<head a=\"\n\">|", "|<script>1</script><head>", "\u{FEFF}<head>|", "\u{FEFF}|x",
        "<html>|</head><head>", "  <html>  <head>|  <meta>", "|  text", "<html = \"a>|b\">",
        "<html a = \"a>b\" b=c\"d>|", "<html a/=\"b>|\">", "<head a=''b=\">\">|",
    ])
    func theTagIsTheFirstElementOfTheHead(page: String) throws {
        let expected = page.replacing("|", with: Self.tag)
        let given = Array(page.replacing("|", with: "").utf8)
        #expect(String(decoding: ScriptTag.added(to: given), as: UTF8.self) == expected)
    }

    @Test func onlyHTMLDocumentsArePages() {
        for (type, isPage) in [
            ("text/html", true), ("Text/HTML; charset=utf-8", true), (" text/html ;x", true), ("text/htmlx", false),
            ("application/xhtml+xml", false), ("text/plain", false), ("", false), ("; text/html", false),
        ] {
            #expect(BrowserDocument(contentType: type, body: []).isPage == isPage, "\(type)")
        }
    }

    @Test func aLongPrologueIsScannedToItsEnd() {
        let comments = Array(String(repeating: "<!-- x -->\n", count: 90_000).utf8)
        #expect(comments.withUnsafeBytes { HTMLPrologue($0).end } == comments.count - 1)
        let open = Array(String(repeating: "<!--", count: 250_000).utf8)
        #expect(open.withUnsafeBytes { HTMLPrologue($0).end } == 0)
    }
}
