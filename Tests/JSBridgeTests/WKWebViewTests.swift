import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Requests for a view wait for the one task that performs them, in order, up to a bound, and until the end.
@Suite(.timeLimit(.minutes(10))) struct PageCommandsTests {
    private let commands = PageCommands(bound: 2)

    @Test func wakeUpsCoalesceIntoOneCommand() async {
        for _ in 0..<1_000 { commands.wake() }
        #expect(await commands.next() == .evaluate)
        commands.end()
        #expect(await commands.next() == .end)
    }

    @Test func theLastLoadReplacesEarlierOnes() async throws {
        let url = try URLText("https://shop.example/")
        commands.load(.reload)
        commands.load(.load(url))
        commands.wake()
        #expect(await commands.next() == .evaluate)
        #expect(await commands.next() == .load(url))
    }

    @Test func popupsWaitInOrderUpToTheBound() async throws {
        let popups = ["one:", "two:", "three:"].map { PageCommands.Popup(text: $0, page: nil) }
        #expect(popups.map(commands.open) == [true, true, false])
        #expect(await commands.next() == .open(popups[0]))
        #expect(commands.open(popups[2]))
        #expect(await commands.next() == .open(popups[1]))
        #expect(await commands.next() == .open(popups[2]))
    }

    @Test func commandsAfterTheEndAreDropped() async throws {
        commands.load(.reload)
        commands.end()
        commands.wake()
        #expect(await commands.next() == .end)
        #expect(await commands.next() == .end)
    }

    @Test func aCancelledReaderIsStillWoken() async {
        let received = EventList<PageCommands.Command>()
        let reader = Task { [commands] in
            received.append(contentsOf: [await commands.next()])
            received.append(contentsOf: [await commands.next()])
        }
        reader.cancel()
        commands.wake()
        #expect(await received.first(1) == [.evaluate])
        commands.end()
        await reader.value
        #expect(received.all == [.evaluate, .end])
    }
}

/// The script that reports a page's title, in a page that has only the members it uses.
@Suite(.timeLimit(.minutes(10))) struct TitleScriptTests {
    /// Returns a document with or without a head. `change()` reports its changes.
    private static func document(hasHead: Bool) -> String {
        """
        class Document { querySelector(name) { return \(hasHead) && name === 'head' ? 'the head' : null; } }
        globalThis.document = Object.assign(new Document(), { querySelector: 'clobbered by the page' });
        let change;
        globalThis.MutationObserver = class {
          constructor(callback) { change = callback; }
          observe(node, options) { report([node === document ? 'the document' : node, Object.keys(options)]); }
        };
        """
    }

    private func trial(hasHead: Bool = true, _ then: String) throws -> PageTrial {
        let trial = try PageTrial(Self.document(hasHead: hasHead), TitleScript.text, then) { $0.endsWhenIdle = true }
        let reports = trial.reports
        try trial.supervisor.register(
            Registration("title", as: RawBody.self, from: .script()) { body, _ in
                reports.append("title \(body.bytes.text ?? "")")
            }
        )
        return trial
    }

    @Test func aBurstOfTitleChangesIsReportedOnce() async throws {
        let reports = try await trial("for (let n = 0; n < 100; n++) change();").untilEnd()
        // The page's reports and the plugin's come from two threads.
        #expect(reports.sorted() == [#"["the head",["childList","subtree","characterData"]]"#, "title null"])
    }

    @Test func aLaterTitleChangeIsReported() async throws {
        let reports = try await trial("setTimeout(change, 150);").untilEnd()
        #expect(reports.filter { $0 == "title null" }.count == 2)
    }

    @Test func withoutAHeadTheDocumentIsObserved() async throws {
        let reports = try await trial(hasHead: false, "").untilEnd()
        #expect(reports.contains { $0.hasPrefix(#"["the document""#) })
    }
}

/// A text from the private world claims an origin, and the engine reports the frame's origin. Both must be equal.
@Suite struct ClaimedOriginTests {
    private func agrees(_ claim: String, _ scheme: String, _ host: String, _ port: Int = 0) -> Bool {
        ClaimedOrigin(in: "0123456789abcdef \(claim)\nhello\n\n").matches(scheme: scheme, host: host, port: port)
    }

    @Test(arguments: [
        ("https://app.example", "https", "app.example", 0), ("https://app.example", "https", "app.example", 443),
        ("http://127.0.0.1:8080", "http", "127.0.0.1", 8_080), ("http://[::1]:8080", "http", "[::1]", 8_080),
        ("http://[::1]:8080", "http", "::1", 8_080), ("HTTPS://App.Example", "https", "app.example", 0),
    ])
    func aClaimOfTheFramesOriginMatches(claim: String, scheme: String, host: String, port: Int) {
        #expect(agrees(claim, scheme, host, port))
    }

    @Test(arguments: [
        ("https://app.example", "https", "evil.example", 0), ("https://app.example", "http", "app.example", 0),
        ("https://app.example", "https", "app.example", 8_443), ("https://app.example:8443", "https", "app.example", 0),
        ("https://app.example", "https", "app.example.evil.example", 0), ("https://app.example", "", "", 0),
        ("null", "", "", 0), ("null", "https", "app.example", 0), ("", "https", "app.example", 0),
        ("file://", "file", "", 0), ("https://app.example/", "https", "app.example", 0),
        ("https://app.example", "https", "app.example", -1), ("https://app.example", "https", "app.example", 70_000),
        ("https://app.example evil", "https", "app.example", 0), ("https://app.example", "https", "app.example/x", 0),
        ("https://app.example", "https", "user@app.example", 0),
    ])
    func aClaimOfAnotherOriginDoesNotMatch(claim: String, scheme: String, host: String, port: Int) {
        #expect(!agrees(claim, scheme, host, port))
    }

    @Test(arguments: ["", "\n", "https://app.example", "token\nhttps://app.example", " https://app.example \n"])
    func aTextWithoutTokenAndOriginDoesNotMatch(text: String) {
        #expect(!ClaimedOrigin(in: text).matches(scheme: "https", host: "app.example", port: 0))
    }

    @Test func onlyTheFirstLineOfALongTextIsRead() {
        let long = "token https://app.example\n" + String(repeating: "x", count: 1_000_000)
        #expect(ClaimedOrigin(in: long).matches(scheme: "https", host: "app.example", port: 0))
        let endless = "token https://app.example" + String(repeating: "x", count: 1_000_000)
        #expect(!ClaimedOrigin(in: endless).matches(scheme: "https", host: "app.example", port: 0))
    }
}
