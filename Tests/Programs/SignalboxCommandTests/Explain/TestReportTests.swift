import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The output of `signalbox test`, and its exit statuses.
@Suite(.timeLimit(.minutes(10))) struct TestReportTests {
    /// Names that each format must escape.
    private static let names = [
        "plain", #"quotes ' and ""#, "<b>&amp;</b> ]]>", "a # directive # TODO", #"back\slash"#,
        "control \u{1}\u{1B}[31m\n not ok", "\u{FFFE}\u{FFFF}", "\u{202E}direction \u{2028} é 🍵",
    ]

    private static func report(isExpected: Bool) async throws -> TestReport {
        let text = TestFixture.text(["name: a, url: 'myapp://product/7', expect: { action: open }"])
        let read = try ConfigurationFixture.read(text, for: .test)
        let test = try #require(read.tests.first)
        let run = TestRun(read, file: "f.yaml")
        var results: [TestResult] = []
        for name in names {
            let expected: [TestMember: TestValue] = isExpected ? test.expected : [.action: .text(name)]
            let named = ConfigurationTest(name: name, line: test.line, subject: test.subject, expected: expected)
            results.append(try await run.result(of: named))
        }
        return TestReport(file: "a & \"b\".yaml", results: results)
    }

    private static func text(_ report: TestReport, _ format: TestFormat) -> String {
        String(decoding: report.bytes(as: format), as: UTF8.self)
    }

    @Test(arguments: [true, false])
    func theTextHasALineForEachTest(_ isExpected: Bool) async throws {
        let lines = Self.text(try await Self.report(isExpected: isExpected), .text).split(separator: "\n")
        #expect(lines.count { $0.hasPrefix(isExpected ? "ok " : "not ok ") } == Self.names.count)
        #expect(lines.count == Self.names.count * (isExpected ? 1 : 3))
        #expect(lines.allSatisfy { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } })
    }

    @Test(arguments: [true, false])
    func eachLineOfJSONIsAnObject(_ isExpected: Bool) async throws {
        let lines = Self.text(try await Self.report(isExpected: isExpected), .json).split(separator: "\n")
        let objects = try lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects.map { $0["name"] as? String } == Self.names)
        #expect(objects.allSatisfy { $0["passes"] as? Bool == isExpected })
        #expect(objects.allSatisfy { $0["line"] as? Int == TestFixture.firstLine })
        for (object, name) in zip(objects, Self.names) where !isExpected {
            let difference = try #require((object["differences"] as? [[String: String]])?.first)
            #expect(difference == ["member": "action", "expected": name, "found": "open"])
        }
    }

    @Test(arguments: [true, false])
    func theTAPHasAPlanAndALineForEachTest(_ isExpected: Bool) async throws {
        let lines = Self.text(try await Self.report(isExpected: isExpected), .tap).split(separator: "\n")
        #expect(lines.prefix(2) == ["TAP version 14", "1..\(Self.names.count)"])
        let points = lines.filter { !$0.hasPrefix(" ") }.dropFirst(2)
        #expect(points.count == Self.names.count)
        for (number, line) in points.enumerated() {
            #expect(line.hasPrefix("\(isExpected ? "ok" : "not ok") \(number + 1) - "))
            // A number sign without a backslash would begin a directive.
            #expect(line.replacing(/\\./, with: "").allSatisfy { $0 != "#" && $0 != "\\" })
        }
        let blocks = lines.filter { $0 == "  ---" || $0 == "  ..." }
        #expect(blocks.count == (isExpected ? 0 : 2 * Self.names.count))
        for line in lines where line.hasPrefix("  message: ") {
            let value = Data(line.dropFirst("  message: ".count).utf8)
            #expect(try JSONSerialization.jsonObject(with: value, options: .fragmentsAllowed) is String)
        }
    }

    @Test(arguments: [true, false])
    func theXMLIsWellFormedAndCounts(_ isExpected: Bool) async throws {
        let xml = Self.text(try await Self.report(isExpected: isExpected), .junit)
        try await TemporaryFolder.with { folder in
            let (file, output) = (folder.appendingPathComponent("a.xml"), folder.appendingPathComponent("out"))
            try xml.write(to: file, atomically: true, encoding: .utf8)
            // The parser of another project reads what continuous integration reads.
            let script = """
                import json, sys, xml.etree.ElementTree as tree
                root = tree.parse(sys.argv[1]).getroot()
                suite = root.find("testsuite")
                cases = suite.findall("testcase")
                print(json.dumps([root.tag, suite.get("name"), suite.get("tests"), suite.get("failures"),
                                  float(suite.get("time")) >= 0, len(cases),
                                  sum(case.find("failure") is not None for case in cases),
                                  all(case.get(key) for case in cases for key in ["classname", "name", "file", "line", "time"]),
                                  [case.get("name") for case in cases][:5]]))
                """
            let program = try RunningProgram("python3", ["-c", script, file.path], output: output)
            #expect(await program.status() == 0)
            let found = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: output)) as? NSArray)
            let (count, failures) = (Self.names.count, isExpected ? 0 : Self.names.count)
            let expected: NSArray = [
                "testsuites", "a & \"b\".yaml", "\(count)", "\(failures)", true, count, failures, true,
                Array(Self.names.prefix(5)),
            ]
            #expect(found == expected, "\(xml)")
        }
    }
}

/// The command as its users run it.
@Suite(.timeLimit(.minutes(10))) struct TestCommandLiveTests {
    private static let passing = "name: a link, url: 'myapp://product/7', expect: { outcome: handled }"
    private static let failing = "name: a payment, topic: push/a/pay, body: 1, expect: { outcome: handled }"

    private static func run(
        _ configuration: String,
        _ arguments: [String] = [],
        files: [String: String] = [:],
        _ body: (LinkTrial, CommandProcess.Finished) async throws -> Void
    ) async throws {
        try await LinkTrial.with(files.merging(["c.yaml": configuration]) { $1 }) { trial in
            try await body(trial, try await trial.run(["test", "c.yaml"] + arguments))
        }
    }

    @Test func theStatusSaysWhetherAllPassed() async throws {
        try await Self.run(TestFixture.text([Self.passing])) { _, finished in
            #expect(finished.status == 0 && finished.output.count == 1)
            #expect(finished.errors == ["signalbox: 1 test, 0 failed in c.yaml"])
        }
        try await Self.run(TestFixture.text([Self.passing, Self.failing]), ["--format", "text"]) { trial, finished in
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let place = "c.yaml:\(TestFixture.firstLine + 1)"
            let difference = "        outcome: expected handled, found rejected"
            #expect(finished.output.prefix(3) == ["ok      a link", "not ok  a payment  (\(place))", difference])
            #expect(finished.errors == ["signalbox: 2 tests, 1 failed in c.yaml"])
            let chosen = try await trial.run(["test", "c.yaml", "--filter", "link"])
            #expect(chosen.status == 0 && chosen.output.count == 1)
            let none = try await trial.run(["test", "c.yaml", "--filter", "nothing"])
            #expect(none.status == CommandStatus.usage.rawValue && none.output.isEmpty)
        }
    }

    @Test func noTestsAndWrongTestsAreErrorsOfTheConfiguration() async throws {
        try await Self.run(TestFixture.configuration) { _, finished in
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(finished.errors.first?.contains("there are no tests; write some, such as tests: [") == true)
        }
        let mistyped = TestFixture.text(["name: a, url: 'myapp://a', expect: { outcome: handled, repl: 1 }"])
        try await Self.run(mistyped) { _, finished in
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue && finished.output.isEmpty)
            let place = "signalbox: c.yaml:\(TestFixture.firstLine):"
            #expect(finished.errors.first?.hasPrefix(place) == true, "\(finished.errors)")
            #expect(finished.errors.first?.contains("did you mean 'reply'?") == true)
        }
    }

    @Test func testsCanBeInAFileOfTheirOwn() async throws {
        let good = "- { \(Self.passing) }\n"
        let files = ["good.yaml": good, "bad.yaml": good + "- { name: b, bod: 1 }\n"]
        try await Self.run(TestFixture.configuration + "tests: good.yaml\n", files: files) { trial, finished in
            #expect(finished.status == 0)
            #expect(finished.output.first?.contains(#""file":"good.yaml","line":1,"#) == true)
            #expect(try await trial.run(["check", "c.yaml"]).status == 0)
            let bad = try await trial.run(["test", "c.yaml", "--tests", "bad.yaml"])
            #expect(bad.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(bad.errors.contains { $0.hasPrefix("signalbox: bad.yaml:2:14: [1].bod: unknown key 'bod'") })
            let missing = try await trial.run(["test", "c.yaml", "--tests", "nowhere.yaml"])
            #expect(missing.status == CommandStatus.unreadableFile.rawValue)
        }
        try await Self.run(TestFixture.configuration + "tests: bad.yaml\n", files: files) { trial, finished in
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            let checked = try await trial.run(["check", "c.yaml"])
            #expect(checked.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(checked.output.contains { $0.hasPrefix("bad.yaml:2:14: error: [1].bod: unknown key") })
        }
    }

    /// The broker would see a connection, and the program and the plugin `file` would leave files.
    @Test func nothingRuns() async throws {
        let listener = try QuietListener()
        let configuration = TestFixture.text([
            "name: a, topic: push/till/pay, body: 1, expect: { outcome: handled, plugin: file }",
            "name: b, topic: raw/a, base64: AA==, expect: { outcome: handled, plugin: exec }",
            "name: c, principal: kitchen, action: order, expect: { outcome: handled, plugin: publish }",
            "name: d, source: page, action: price, expect: { reply: { cents: 350, tags: [a, null, 1.5, true] } }",
        ])
        .replacing("127.0.0.1:1\n", with: "127.0.0.1:\(listener.port)\n")
        try await Self.run(configuration) { trial, finished in
            #expect(finished.status == 0, "\(finished)")
            let files = try FileManager.default.contentsOfDirectory(atPath: trial.folder.path)
            #expect(files == ["c.yaml"])
        }
        #expect(!listener.takeConnection())
    }
}
