import AppScheme
import BrokerKit
import Foundation
import SignalboxRoutes
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore

@Suite(.timeLimit(.minutes(10))) struct ParseLiveTests {
    private static let routes = """
        routes:
          - { pattern: 'myapp://product/{number:int}', action: open }
          - { pattern: 'myapp://login/{token}', action: login, once: true }
        """

    @Test func validURLsAreShownInOrderWithStatusZero() async throws {
        try await LinkTrial.with { trial in
            let finished = try await trial.run(["parse", "myapp:b", "HTTPS://A.example"])
            #expect(finished.status == 0)
            #expect(
                finished.output == [
                    #"{"url":"myapp:b","scheme":"myapp","path":"b","segments":["b"]}"#,
                    #"{"url":"https://a.example/","scheme":"https","host":"a.example","path":"/","segments":[""],"origin":"https://a.example"}"#,
                ]
            )
            #expect(finished.errors.isEmpty)
        }
    }

    @Test func anInvalidLineIsStatusOneAndDoesNotStopOthers() async throws {
        try await LinkTrial.with { trial in
            let lines = Array("myapp:a\nhttps:\\\\evil\n\n".utf8) + [0xFF, 0x0A] + Array("myapp:b\r\nmyapp:c".utf8)
            let finished = try await trial.run(["parse", "--stdin"], input: lines)
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let starts = [
                #"{"url":"myapp:a""#, #"{"input":"https:\\\\evil","error":{"reason":"ambiguousURL","offset":6,"#,
                #"{"input":"","error":{"reason":"empty","offset":0,"#,
                #"{"input":"/w==","inputEncoding":"base64","error":{"reason":"notUTF8","offset":0,"#,
                #"{"url":"myapp:b""#, #"{"url":"myapp:c""#,
            ]
            #expect(finished.output.count == starts.count)
            for (line, start) in zip(finished.output, starts) { #expect(line.hasPrefix(start)) }
        }
    }

    @Test func anOverlongLineIsOneErrorLine() async throws {
        try await LinkTrial.with { trial in
            let long = "https://a.example/" + String(repeating: "ü", count: 100_000)
            let finished = try await trial.run(["parse", "--stdin"], input: "\(long)\nmyapp:b\n")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output.count == 2)
            let first = try #require(finished.output.first)
            #expect(first.hasPrefix(#"{"input":"https://a.example/üü"#))
            #expect(
                first.hasSuffix(
                    #"ü","inputCut":true,"error":{"reason":"tooLong","offset":65536,"detail":"expected at most 65536 bytes"}}"#
                )
            )
            #expect(first.utf8.count < URLText.maximumLength + 200)
        }
    }

    @Test func routesShowTheActionWithoutCallingIt() async throws {
        try await LinkTrial.with(["r.yaml": ParseLiveTests.routes]) { trial in
            let finished = try await trial.run(["parse", "myapp://product/42", "myapp://cart", "--routes", "r.yaml"])
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(
                finished.output.first?.hasSuffix(
                    #""route":"myapp://product/{number:int}","action":"open","body":{"number":"42"}}"#
                ) == true
            )
            #expect(finished.output.last?.contains(#""rejected":{"reason":"unknownAction","#) == true)
            let good = try await trial.run(["parse", "myapp://product/42", "--routes", "r.yaml"])
            #expect(good.status == 0)
        }
    }

    @Test func routesMayComeFromALinksSource() async throws {
        let links = "{ links: { routes: [ { pattern: 'myapp://{x}', action: a } ] } }"
        let configuration = "sources: { one: \(links), two: \(links) }\nplugins: []\n"
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let arguments = ["parse", "myapp://b", "--routes", "c.yaml"]
            let several = try await trial.run(arguments)
            #expect(several.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(
                several.errors == [
                    "signalbox: c.yaml: there are several links sources; choose one with --source: one, two"
                ]
            )
            let chosen = try await trial.run(arguments + ["--source", "two"])
            #expect(chosen.status == 0)
            #expect(chosen.output.first?.hasSuffix(#""route":"myapp://{x}","action":"a","body":{"x":"b"}}"#) == true)
            let unknown = try await trial.run(arguments + ["--source", "tow"])
            #expect(unknown.errors.first?.contains("there is no links source 'tow'; did you mean 'two'?") == true)
        }
    }

    @Test func invalidRoutesAreReportedWithTheirPositions() async throws {
        try await LinkTrial.with(["r.yaml": "routes: [ { pattern: 'myapp://{x' }, { action: 7 } ]"]) { trial in
            let finished = try await trial.run(["parse", "myapp:b", "--routes", "r.yaml"])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(finished.output.isEmpty)
            #expect(finished.errors.count == 3)
            #expect(finished.errors.first?.hasPrefix("signalbox: r.yaml:1:22: routes[0].pattern: ") == true)
            let missing = try await trial.run(["parse", "myapp:b", "--routes", "nowhere.yaml"])
            #expect(missing.status == CommandStatus.unreadableFile.rawValue)
        }
    }

    @Test func aFolderAsStandardInputCannotBeRead() async throws {
        try await LinkTrial.with { trial in
            let finished = try await CommandProcess.run(["parse", "--stdin"], input: trial.folder)
            #expect(finished.status == CommandStatus.unreadableFile.rawValue)
            #expect(finished.errors == ["signalbox: stdin cannot be read: Is a directory"])
        }
    }

    @Test func aClosedStdoutEndsTheCommand() async throws {
        let command = try CommandProcess(["parse", "--stdin"], isTyped: true, pausesOutput: true)
        command.write { _ in Array("myapp:a\n".utf8) }
        #expect(await command.output.countLines(1) >= 1)
        command.output.close()
        await command.ends(with: CommandStatus.outputFailed.rawValue)
    }

    /// A line is answered as soon as it arrives, without waiting for the end of the input.
    @Test func eachLineIsAnsweredBeforeTheNextIsWritten() async throws {
        let command = try CommandProcess(["parse", "--stdin"], isTyped: true, pausesOutput: true)
        command.write { $0 < 1 ? Array("myapp:a\n".utf8) : nil }
        #expect(await command.output.countLines(1) == 1)
        command.write { $0 < 1 ? Array("myapp:b\n".utf8) : nil }
        #expect(await command.output.countLines(1) == 1)
        try command.closeInput()
        await command.ends()
    }

    /// The input has 66 MiB and the output more than twice that, so a program that stores either exceeds the limit.
    /// Without input, the program needs about half of the limit.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")))
    func memoryIsIndependentOfTheNumberOfLines() async throws {
        let command = try CommandProcess(["parse", "--stdin"], isTyped: true, pausesOutput: true)
        let (long, short) = ([UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20) + [0x0A], Array("x\n".utf8))
        // 32 rounds of a line of 2 MiB and 31,249 short ones.
        let rest = (0..<31_249).flatMap { _ in short }
        command.write { number in number < 64 ? number % 2 == 0 ? long : rest : nil }
        #expect(await command.output.countLines(1_000_000) == 1_000_000)
        let peak = try #require(command.peakMemory)
        #expect(peak < CommandProcess.memoryLimit, "VmHWM \(peak) KiB")
        try command.closeInput()
        await command.ends(with: CommandStatus.notAsExpected.rawValue)
    }
}

@Suite struct ParsedURLTests {
    private static func parsed(_ text: String, base: String? = nil, routes: AppRoutes? = nil) throws -> ParsedURL {
        ParsedURL(InputLine(Array(text.utf8)), base: try base.map { try URLText($0) }, routes: routes)
    }

    private static func line(_ parsed: ParsedURL) -> String {
        String(decoding: parsed.jsonLine.dropLast(), as: UTF8.self)
    }

    @Test(arguments: [
        (
            "HTTPS://Shop.Example:8443/a/../b%2Fc/?q=red+shoes&empty&=x#top",
            #"{"url":"https://shop.example:8443/b%2Fc/?q=red+shoes&empty&=x#top","scheme":"https","host":"shop.example","#
                + #""port":8443,"path":"/b%2Fc/","segments":["b/c",""],"query":[{"name":"q","value":"red shoes"},"#
                + #"{"name":"empty","value":""},{"name":"","value":"x"}],"fragment":"top","#
                + #""origin":"https://shop.example:8443"}"#
        ),
        (
            "myapp:product/42",
            #"{"url":"myapp:product/42","scheme":"myapp","path":"product/42","segments":["product","42"]}"#
        ),
        ("myapp:///", #"{"url":"myapp:///","scheme":"myapp","host":"","path":"/","segments":[""]}"#),
        ("myapp://x?", #"{"url":"myapp://x?","scheme":"myapp","host":"x","path":"","segments":[],"query":[]}"#),
    ])
    func aURLIsShownWithItsParts(_ text: String, _ expected: String) throws {
        let parsed = try ParsedURLTests.parsed(text)
        #expect(parsed.isValid)
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func aRefusedURLHasTheReasonAndThePosition() throws {
        let parsed = try ParsedURLTests.parsed("https:\\\\evil\u{1}")
        #expect(!parsed.isValid)
        let expected =
            #"{"input":"https:\\\\evil\u0001","error":{"reason":"controlCharacter","offset":12,"#
            + #""detail":"the byte 1 must be escaped"}}"#
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func anUnreadableItemIsLeftOutAndCounted() throws {
        let parsed = try ParsedURLTests.parsed("https://a.example/x?a=1&q=%zz")
        #expect(parsed.isValid)
        let expected =
            #"{"url":"https://a.example/x?a=1&q=%zz","scheme":"https","host":"a.example","path":"/x","segments":["x"],"#
            + #""query":[{"name":"a","value":"1"}],"origin":"https://a.example","unreadableItems":1}"#
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func aNonUTF8LineIsBase64() {
        let parsed = ParsedURL(InputLine([0x61, 0x3A, 0xFF]), base: nil, routes: nil)
        #expect(
            ParsedURLTests.line(parsed)
                == #"{"input":"YTr/","inputEncoding":"base64","error":{"reason":"notUTF8","offset":2,"detail":"the line is not UTF-8"}}"#
        )
    }

    @Test func aTruncatedLineIsMarked() {
        let parsed = ParsedURL(InputLine(Array("myapp:".utf8), isTruncated: true), base: nil, routes: nil)
        #expect(
            ParsedURLTests.line(parsed)
                == #"{"input":"myapp:","inputCut":true,"error":{"reason":"tooLong","offset":6,"detail":"expected at most 6 bytes"}}"#
        )
    }

    @Test func aRelativeURLIsResolvedAgainstTheBase() throws {
        let base = "https://shop.example/a/b?c"
        #expect(
            ParsedURLTests.line(try ParsedURLTests.parsed("../x", base: base)).hasPrefix(
                #"{"url":"https://shop.example/x""#
            )
        )
        #expect(
            ParsedURLTests.line(try ParsedURLTests.parsed("//evil.example/", base: base)).contains(
                #""host":"evil.example""#
            )
        )
        #expect(!(try ParsedURLTests.parsed("../x").isValid))
    }

    private static func routes(fallback: Bool = false) throws -> AppRoutes {
        try AppRoutes(
            [
                AppRoute(URLPattern("myapp://product/{number:int}"), action: "open"),
                AppRoute(URLPattern("myapp://do/{action}/{id}")),
                AppRoute(URLPattern("myapp://login/{token}"), action: "login", once: true),
            ],
            fallback: fallback ? "unknown" : nil
        )
    }

    @Test(arguments: [
        (
            "myapp://product/42?a=b",
            #""route":"myapp://product/{number:int}","action":"open","body":{"number":"42","a":"b"}}"#
        ),
        ("myapp://do/dance/7", #""route":"myapp://do/{action}/{id}","action":"dance","id":"7","body":{}}"#),
        (
            "myapp://product/42?a=%zz&a=b",
            #""unreadableItems":1,"route":"myapp://product/{number:int}","action":"open","#
                + #""body":{"number":"42","a":["b"]}}"#
        ),
    ])
    func routesShowTheAction(_ text: String, _ end: String) throws {
        let parsed = try ParsedURLTests.parsed(text, routes: ParsedURLTests.routes())
        #expect(parsed.isValid)
        #expect(ParsedURLTests.line(parsed).hasSuffix(end), "\(ParsedURLTests.line(parsed))")
    }

    @Test func theIDOfAOnceLinkDoesNotRevealIt() throws {
        let line = ParsedURLTests.line(
            try ParsedURLTests.parsed("myapp://login/canary", routes: ParsedURLTests.routes())
        )
        let id = try #require(line.components(separatedBy: #""id":""#).last?.prefix { $0 != "\"" })
        #expect(id.hasPrefix("link-") && !id.contains("canary"))
    }

    @Test(arguments: [
        ("myapp://cart", #""rejected":{"reason":"unknownAction","detail":"no route matches this link"#),
        (
            "myapp://do/not%20a%20name/7",
            #""route":"myapp://do/{action}/{id}","rejected":{"reason":"malformed","detail":"the link's"#
        ),
        ("https://u@x", #""rejected":{"reason":"malformed","detail":"the link cannot be read: userinfo at byte 9"#),
    ])
    func aURLWithoutARouteIsRejected(_ text: String, _ words: String) throws {
        let parsed = try ParsedURLTests.parsed(text, routes: ParsedURLTests.routes())
        #expect(!parsed.isValid)
        #expect(ParsedURLTests.line(parsed).contains(words), "\(ParsedURLTests.line(parsed))")
    }

    @Test func theFallbackIsAnAction() throws {
        let parsed = try ParsedURLTests.parsed("myapp://cart", routes: ParsedURLTests.routes(fallback: true))
        #expect(parsed.isValid)
        #expect(ParsedURLTests.line(parsed).hasSuffix(#""action":"unknown","body":{"url":"myapp://cart"}}"#))
    }

    @Test(arguments: NaughtyText.all) func anyTextStaysOneLine(_ text: String) throws {
        for given in [text, "https://a.example/\(text)?\(text)#\(text)"] {
            let parsed = try ParsedURLTests.parsed(given, routes: ParsedURLTests.routes())
            for line in [parsed.jsonLine, parsed.terminalLine] {
                let shown = String(decoding: line.dropLast(), as: UTF8.self)
                #expect(!shown.unicodeScalars.contains { $0.isUnsafeInLine })
            }
            #expect(try JSONSerialization.jsonObject(with: Data(parsed.jsonLine)) is [String: Any])
        }
    }

    @Test func terminalLinesHaveColumns() throws {
        let found = try ParsedURLTests.parsed("myapp://product/42", routes: ParsedURLTests.routes())
        let columns = String(decoding: found.terminalLine, as: UTF8.self).split(
            separator: "  ",
            omittingEmptySubsequences: true
        )
        #expect(
            columns.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty } == [
                "myapp://product/42", "product", "42", #"-> open {"number":"42"}"#,
            ]
        )
        let refused = try ParsedURLTests.parsed("https://u@x")
        #expect(String(decoding: refused.terminalLine, as: UTF8.self).contains("refused: userinfo at byte 9"))
    }
}
