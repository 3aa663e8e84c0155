import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

/// The script that tells of a page's title, in a page that has just what the script looks at.
@Suite(.timeLimit(.minutes(10))) struct TitleScriptTests {
    /// A document whose head can be hidden, and whose changes are made by `change()`.
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
        try trial.supervisor.register("title", as: RawBody.self, from: .script()) { body, _ in
            reports.append("title \(body.bytes.text ?? "")")
        }
        return trial
    }

    @Test func itTellsOnceOfAPageAndOfManyChangesAtOnce() async throws {
        let reports = try await trial("for (let n = 0; n < 100; n++) change();").untilEnd()
        // What the page reports and what the plugin does come from two threads.
        #expect(reports.sorted() == [#"["the head",["childList","subtree","characterData"]]"#, "title null"])
    }

    @Test func itTellsOfALaterChangeToo() async throws {
        let reports = try await trial("setTimeout(change, 150);").untilEnd()
        #expect(reports.filter { $0 == "title null" }.count == 2)
    }

    @Test func withoutAHeadTheDocumentIsWatched() async throws {
        let reports = try await trial(hasHead: false, "").untilEnd()
        #expect(reports.contains { $0.hasPrefix(#"["the document""#) })
    }
}
