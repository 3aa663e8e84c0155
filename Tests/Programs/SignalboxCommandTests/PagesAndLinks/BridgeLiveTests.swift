import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct BridgeLiveTests {
    private static let shop = """
        const handlers = window.webkit.messageHandlers;
        let paid;
        handlers.show.postMessage({ n: 1 });
        signalbox.call("hang").catch(error => paid.then(() => handlers.show.postMessage(error.code)));
        paid = signalbox.call("pay", { amount: 1299 }).then(reply => handlers.show.postMessage(reply));
        handlers.closed.postMessage(null);
        handlers.broken.postMessage([]);
        handlers.dance.postMessage("\\u001b[31m");
        handlers.show.postMessage({ action: "show", id: "7", body: 1.50 });
        handlers.show.postMessage({ action: "not a name" });
        """

    @Test func eachMessageIsALineInSendingOrder() async throws {
        try await PageTrial.with { trial in
            let finished = try await trial.bridge(BridgeLiveTests.shop)
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let hang =
                #""outcome":"failed","reason":"timeout","detail":"plugin hang did not return within 0.2 seconds"}"#
            let detail = "plugin closed allows any of (source push), which does not cover this origin of page"
            let unknown = "no plugin is registered for this action"
            let lines = finished.output
            let expected = [
                #"{"source":"page","action":"show","body":{"n":1},"outcome":"handled"}"#,
                #"{"source":"page","action":"hang","body":null,"# + hang,
                #"{"source":"page","action":"pay","body":{"amount":1299},"outcome":"handled","reply":{"receipt":"r-1"}}"#,
                #"{"source":"page","action":"closed","body":null,"outcome":"rejected","reason":"sourceNotAllowed","#
                    + #""detail":"\#(detail)"}"#,
                #"{"source":"page","action":"broken","body":[],"outcome":"failed","reason":"threw","#
                    + #""detail":"the plugin 'fail' always fails"}"#,
                #"{"source":"page","action":"dance","body":"\u001b[31m","outcome":"rejected","reason":"unknownAction","#
                    + #""detail":"\#(unknown)"}"#,
                #"{"source":"page","action":"show","id":"7","body":1.5,"outcome":"handled"}"#,
            ]
            #expect(Array(lines.prefix(7)) == expected)
            try #require(lines.count == 10, "\(lines)")
            #expect(lines[7].hasPrefix(#"{"source":"page","original":"{"#), "\(lines[7])")
            #expect(lines[7].contains(#""outcome":"rejected","reason":"malformed","detail":"#))
            #expect(lines[7].hasSuffix(#","path":"action"}"#), "\(lines[7])")
            #expect(lines[8] == #"{"source":"page","action":"show","body":{"receipt":"r-1"},"outcome":"handled"}"#)
            #expect(lines[9] == #"{"source":"page","action":"show","body":"timeout","outcome":"handled"}"#)
            #expect(finished.errors.contains("signalbox: messages that were not handled: 5 of 10"))
        }
    }

    @Test func theSameScriptMatchesItsRecordedRun() async throws {
        try await PageTrial.with { trial in
            let first = try await trial.bridge(BridgeLiveTests.shop)
            try #require(first.output.count == 10, "\(first.output)")
            try trial.write(first.output.map { $0 + "\n" }.joined(), to: "recorded.jsonl")
            let second = try await trial.bridge(BridgeLiveTests.shop, "--expect", "recorded.jsonl")
            #expect(second.output == first.output)
            #expect(second.status == 0, "\(second.errors)")
            let other = BridgeLiveTests.shop.replacing("{ n: 1 }", with: "{ n: 2 }")
            let third = try await trial.bridge(other, "--expect", "recorded.jsonl")
            #expect(third.status == CommandStatus.notAsExpected.rawValue)
            #expect(third.output.dropFirst() == first.output.dropFirst())
            #expect(third.errors.last == "signalbox: lines that differ from recorded.jsonl: 1")
        }
    }

    @Test func aDifferentLineIsReportedWithTheExpectedOne() async throws {
        try await PageTrial.with { trial in
            let line = #"{"source":"page","action":"show","body":1,"outcome":"handled"}"#
            try trial.write("\(line)\n\(line)\n", to: "recorded.jsonl")
            let script = "for (const n of [1, 2, 3]) window.webkit.messageHandlers.show.postMessage(n);"
            let finished = try await trial.bridge(script, "--expect", "recorded.jsonl")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            try #require(finished.output.count == 3)
            let reported = finished.errors.filter { $0.hasPrefix("signalbox: line") }
            #expect(
                reported == [
                    "signalbox: line 2: expected \(line)", "signalbox: line 2: got      \(finished.output[1])",
                    "signalbox: line 3: expected no line", "signalbox: line 3: got      \(finished.output[2])",
                    "signalbox: lines that differ from recorded.jsonl: 2",
                ]
            )
        }
    }

    @Test func withoutAConfigurationEachMessageIsAnUnknownAction() async throws {
        try await PageTrial.with { trial in
            try trial.write("signalbox.call('pay', [1]).catch(e => console.log(e.code + '!'));", to: "page.js")
            let finished = try await trial.run(["bridge", "page.js"])
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let line =
                #"{"source":"page","action":"pay","body":[1],"outcome":"rejected","reason":"unknownAction","#
                + #""detail":"no plugin is registered for this action"}"#
            #expect(finished.output == [line])
            #expect(finished.errors.contains { $0.contains("unknownAction!") })
        }
    }

    @Test func scriptsRunInOrderInOnePage() async throws {
        try await PageTrial.with { trial in
            try trial.write("const name = 'pay'; let count = 1;", to: "a.js")
            try trial.write("count += 1; signalbox.call(name, count);", to: "b.js")
            let finished = try await trial.run(["bridge", "a.js", "b.js", "c.yaml"])
            #expect(finished.status == 0, "\(finished.errors)")
            let words = #""action":"pay","body":2,"outcome":"handled","reply":{"receipt":"r-1"}}"#
            #expect(finished.output.count == 1 && finished.output[0].hasSuffix(words), "\(finished.output)")
        }
    }

    @Test func aFloodThroughASmallWindowKeepsAllLinesInOrder() async throws {
        try await PageTrial.with { trial in
            let script =
                "for (let n = 0; n < 2000; n++) window.webkit.messageHandlers[n % 2 ? 'show' : 'pay'].postMessage(n);"
            let finished = try await trial.bridge(script, "--log-level", "critical")
            #expect(finished.status == 0)
            let expected = (0..<2_000).map { number in
                let isShown = number % 2 == 1
                let (action, reply) = isShown ? ("show", "") : ("pay", #","reply":{"receipt":"r-1"}"#)
                return #"{"source":"page","action":"\#(action)","body":\#(number),"outcome":"handled"\#(reply)}"#
            }
            let firstDifference = zip(finished.output, expected).first { $0 != $1 }
            #expect(finished.output.count == 2_000)
            #expect(firstDifference == nil)
        }
    }

    @Test func aScriptErrorIsStatusOneEvenIfMessagesAreHandled() async throws {
        try await PageTrial.with { trial in
            let script = "window.webkit.messageHandlers.show.postMessage(1);\nnothing.there();"
            let finished = try await trial.bridge(script)
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output == [#"{"source":"page","action":"show","body":1,"outcome":"handled"}"#])
            #expect(finished.errors.contains { $0.contains("page.js:2") }, "\(finished.errors)")
            #expect(finished.errors.last == "signalbox: script errors: 1")
            try trial.write(finished.output.joined(), to: "recorded.jsonl")
            let compared = try await trial.bridge(script, "--expect", "recorded.jsonl")
            #expect(compared.status == CommandStatus.notAsExpected.rawValue)
            #expect(compared.output == finished.output)
            #expect(compared.errors.filter { $0.hasPrefix("signalbox: ") } == ["signalbox: script errors: 1"])
            let other = try await trial.bridge(script.replacing("(1)", with: "(2)"), "--expect", "recorded.jsonl")
            let differs = "signalbox: lines that differ from recorded.jsonl: 1"
            #expect(other.errors.suffix(2) == [differs, "signalbox: script errors: 1"], "\(other.errors)")
        }
    }

    @Test func anEndlessScriptIsStatusOne() async throws {
        try await PageTrial.with { trial in
            let finished = try await trial.bridge("for (;;) {}")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.errors.contains { $0.hasPrefix("signalbox: a script ran for ") }, "\(finished.errors)")
        }
    }

    @Test func aPageOverTheHeapLimitIsStatusOne() async throws {
        let configuration = PageTrial.configuration.replacing("title: Trial", with: "heap_limit: 8MiB")
        try await PageTrial.with(configuration.replacing("300ms", with: "1h")) { trial in
            let script = "const kept = []; setInterval(() => kept.push(new Array(100000).fill({})), 0);"
            let finished = try await trial.bridge(script)
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(
                finished.errors.contains { $0.hasPrefix("signalbox: the page's objects take more than ") },
                "\(finished.errors)"
            )
        }
    }

    @Test func aBusyPageEndsAtTheTimeout() async throws {
        try await PageTrial.with { trial in
            let script = "window.webkit.messageHandlers.show.postMessage(1); setInterval(() => {}, 10);"
            let finished = try await trial.bridge(script, "--timeout", "500ms")
            #expect(finished.status == CommandStatus.timeout.rawValue)
            #expect(finished.errors.contains("signalbox: timed out before the page was idle"))
        }
    }

    @Test(arguments: [(SIGINT, CommandStatus.interrupted), (SIGTERM, .terminated)])
    func aSignalEndsThePageWithItsStatus(_ number: Int32, _ status: CommandStatus) async throws {
        try await PageTrial.with { trial in
            try trial.write("setInterval(() => {}, 10); console.log('begun');", to: "page.js")
            let process = try trial.start(["bridge", "page.js", "c.yaml"])
            try #require(await process.errors.line(with: "begun") != nil)
            process.signal(number)
            await process.ends(with: status.rawValue)
        }
    }

    @Test(arguments: [
        ["nowhere.js", "c.yaml"], ["page.js", "nowhere.js"], ["page.js", "--expect", "nowhere.jsonl"],
        ["page.js", "nowhere.yaml"],
    ])
    func anUnreadableFileHasItsOwnStatus(_ arguments: [String]) async throws {
        try await PageTrial.with { trial in
            try trial.write("", to: "page.js")
            let finished = try await trial.run(["bridge"] + arguments)
            #expect(finished.status == CommandStatus.unreadableFile.rawValue)
            #expect(finished.output.isEmpty)
            #expect(finished.errors.count == 1)
            #expect(finished.errors.first?.hasPrefix("signalbox: nowhere.") == true)
        }
    }

    @Test func aConfigurationWithoutAPageIsRefusedWithAdvice() async throws {
        let configuration = PageTrial.configuration.split(separator: "\n").filter { !$0.contains("page") }
        let plugin = "- { action: a, use: log, from: [ { source: push } ] }"
        try await PageTrial.with(configuration.joined(separator: "\n") + "\n  \(plugin)\n") { trial in
            let file = configuration.filter { !$0.contains("drain") } + ["  \(plugin)"]
            try trial.write(file.joined(separator: "\n"), to: "c.yaml")
            let finished = try await trial.bridge("")
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            let advice =
                "signalbox: c.yaml: there is no script source; add one below 'sources', such as page: { script: {} }"
            #expect(finished.errors == [advice])
        }
    }

    @Test func theSourceOptionSelectsOneOfSeveralPages() async throws {
        let second = "sources:\n  kiosk: { script: {} }"
        try await PageTrial.with(PageTrial.configuration.replacing("sources:", with: second)) { trial in
            let open = try await trial.bridge("signalbox.call('pay').catch(() => {})")
            #expect(open.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(open.errors.first?.hasSuffix("choose one with --source: kiosk, page") == true)
            let wrong = try await trial.bridge("", "--source", "kiosc")
            #expect(wrong.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(wrong.errors.first?.contains("did you mean 'kiosk'?") == true)
            let kiosk = try await trial.bridge("signalbox.call('pay').catch(() => {})", "--source", "kiosk")
            #expect(kiosk.status == CommandStatus.notAsExpected.rawValue)
            let line =
                #"{"source":"kiosk","action":"pay","body":null,"outcome":"rejected","reason":"sourceNotAllowed","#
                + #""detail":"plugin pay allows any of (source page), which does not cover this origin of kiosk"}"#
            #expect(kiosk.output == [line])
        }
    }

    @Test func theTourMatchesItsRecordedRun() async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let arguments = ["page.js", "page.yaml", "--expect", "page.expected.jsonl"]
        let folder = URL(fileURLWithPath: "\(root)/examples/tour")
        let finished = try await CommandProcess.run(["bridge"] + arguments, folder: folder)
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(finished.output.count == 4)
    }
}

@Suite(.timeLimit(.minutes(10))) struct RunPageTests {
    private static let configuration = """
        sources: { page: { script: { files: [a.js, b.js] } } }
        plugins:
          - { action: pay, use: reply, value: 7, from: [ { source: page } ] }
          - { action: show, use: print, from: [ { source: page } ] }
        """

    @Test func aPageOfAConfigurationRunsUntilASignal() async throws {
        try await PageTrial.with(RunPageTests.configuration) { trial in
            try trial.write("const reply = signalbox.call('pay');", to: "a.js")
            try trial.write("reply.then(value => window.webkit.messageHandlers.show.postMessage(value));", to: "b.js")
            let process = try trial.start(["run", "c.yaml", "--outcomes"])
            #expect(await process.output.line(with: #""action":"pay""#, #""outcome":"handled""#) != nil)
            #expect(await process.output.line(with: #""action":"show""#, #""outcome":"handled""#) != nil)
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            await process.ends()
            #expect(errors.last == "signalbox: handled 2, rejected 0, failed 0, abandoned 0, dead letters 0")
        }
    }

    @Test func aMissingScriptIsAnUnreadableFile() async throws {
        try await PageTrial.with(RunPageTests.configuration) { trial in
            try trial.write("", to: "a.js")
            let finished = try await trial.run(["run", "c.yaml"])
            #expect(finished.status == CommandStatus.unreadableFile.rawValue)
            #expect(finished.errors == ["signalbox: b.js: cannot be read: No such file or directory"])
        }
    }

    @Test func aPageNeedsNoFiles() async throws {
        try await PageTrial.with("sources: { page: { script: {} } }\nplugins: []\n") { trial in
            let finished = try await trial.run(["check", "c.yaml"])
            #expect(finished.status == 0)
            let words = "it has no scripts, so 'signalbox run' receives nothing"
            #expect(finished.output.contains { $0.contains(words) }, "\(finished.output)")
        }
    }
}
