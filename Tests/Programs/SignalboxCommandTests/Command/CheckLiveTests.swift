import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct CheckLiveTests {
    static let good = ConfigurationFixture.lines.joined(separator: "\n")
    private static let doubtful = good.replacing("source: push }", with: "source: push, topic: x }")
    private static let bad = good.replacing("timeout: 3s", with: "timout: 3s")

    static func check(_ texts: [String], _ options: [String] = []) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await TemporaryFolder.with { folder in
            let names = texts.indices.map { "\($0).yaml" }
            for (name, text) in zip(names, texts) {
                try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            finished = try await CommandProcess.run(["check"] + options + names, folder: folder)
        }
        return try #require(finished)
    }

    private static let trials: [([String], [String], Int32)] = [
        ([good], [], 0), ([doubtful], [], 0), ([doubtful], ["--strict"], 65), ([bad], [], 65), ([good, bad], [], 65),
        ([good, good], ["--strict"], 0), (["a: [", good], [], 65),
    ]

    @Test(arguments: trials)
    func theStatusShowsWhetherTheConfigurationWouldRun(_ texts: [String], _ options: [String], _ status: Int32)
        async throws
    {
        #expect(try await CheckLiveTests.check(texts, options).status == status)
    }

    @Test func findingsHaveTheFormatThatEditorsParse() async throws {
        let finished = try await CheckLiveTests.check([CheckLiveTests.bad, CheckLiveTests.doubtful])
        #expect(finished.output.count == 3)
        let line = "0.yaml:12:1: error: timout: unknown key 'timout'; did you mean 'timeout'?; known here: "
        #expect(finished.output.first?.hasPrefix(line) == true)
        #expect(finished.output.first?.hasSuffix(" [unknownKey]") == true)
        #expect(finished.output.dropFirst().allSatisfy { $0.hasPrefix("1.yaml:") && $0.contains(": warning: ") })
        #expect(finished.errors == ["signalbox: 1 error, 2 warnings in 2 files"])
    }

    @Test func aRuleThatExcludesOneSourceOfJoinIsJudgedByTheOthers() async throws {
        let text = """
            sources:
              push: { mqtt: { broker: mqtt://h, client_id: a, topics: [ { pattern: 'push/{action}' } ] } }
              room: { chat: { port: 0, absent_origin: allowed } }
            plugins:
              - { action: rest, use: log, from: [ push, room ] }
              - { action: enter, use: join, tag: a, from: [ { not: room } ] }
            """
        let bad = try await CheckLiveTests.check([text])
        #expect(bad.status == CommandStatus.invalidConfiguration.rawValue)
        let words =
            "plugins[1].from[0]: messages of 'push' come from no connection; only a connection has tags; name the chat "
            + "instead, such as from: [room] [conflictingKeys]"
        #expect(bad.output.count == 1 && bad.output[0].hasSuffix(words), "\(bad.output)")
        let good = try await CheckLiveTests.check(
            [text.replacing("{ not: room }", with: "{ not: push }")],
            ["--strict"]
        )
        #expect(good.status == 0, "\(good.output)")
    }

    @Test func aFindingIsOneJSONObject() async throws {
        let finished = try await CheckLiveTests.check([CheckLiveTests.bad], ["--json"])
        let line = try #require(finished.output.first)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(finished.output.count == 1)
        #expect(Set(object.keys) == ["file", "line", "column", "path", "severity", "code", "message", "suggestion"])
        #expect(object["file"] as? String == "0.yaml")
        #expect(object["line"] as? Int == 12)
        #expect(object["column"] as? Int == 1)
        #expect(object["path"] as? String == "timout")
        #expect(object["severity"] as? String == "error")
        #expect(object["code"] as? String == "unknownKey")
        #expect(object["suggestion"] as? String == "timeout")
    }

    @Test func aMissingFileIsAFinding() async throws {
        let finished = try await CommandProcess.run(["check", "/nowhere/a.yaml", "--json"])
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
        #expect(finished.output.count == 1)
        #expect(finished.output.first?.contains(#""code":"unreadableFile","message":"cannot be read: "#) == true)
    }

    struct Mistake: Sendable, CustomStringConvertible {
        let description: String
        /// The part of the file that `other` replaces.
        let part: String
        let other: String
        /// The expected `LINE:COLUMN SEVERITY CODE`, followed by the expected suggestion and advice.
        let finding: String
        /// The text that corrects the mistake if it replaces the key or value at the position of the finding.
        var suggestion: String?
        var advice: String?
    }

    private static let rule = "    from: [ { source: push } ]"
    private static let topic = "        - pattern: push/{device}/{action}"

    static let mistakes = [
        Mistake(
            description: "an unknown key",
            part: "timeout: 3s",
            other: "timout: 3s",
            finding: "12:1 error unknownKey",
            suggestion: "timeout"
        ),
        Mistake(
            description: "a duplicate action",
            part: "timeout: 3s",
            other: "  - { action: loading, use: log, from: [ { source: push } ] }",
            finding: "12:15 error duplicateAction"
        ),
        Mistake(
            description: "a shadowed route",
            part: topic,
            other: "\(topic)\n        - pattern: push/kiosk/{action}",
            finding: "8:20 warning shadowedRoute"
        ),
        Mistake(
            description: "a source without a rule",
            part: "plugins:",
            other: "  page: { script: { files: [0.yaml] } }\nplugins:",
            finding: "8:3 warning sourceWithoutRule",
            advice: "add { source: page } to the 'from' of a plugin"
        ),
        Mistake(
            description: "an unreachable plugin",
            part: "timeout: 3s",
            other: "  - { action: never, use: log, from: [ { source: push, topic: push/+/other } ] }",
            finding: "12:15 warning unreachablePlugin"
        ),
        Mistake(
            description: "an invalid pattern",
            part: topic,
            other: "        - pattern: push/#/x",
            finding: "7:20 error badPattern"
        ),
        Mistake(
            description: "a missing file",
            part: "plugins:",
            other: "  page: { script: { files: [gone.js] } }\nplugins:",
            finding: "8:29 error missingFile"
        ),
        Mistake(
            description: "attempts longer than the ack deadline",
            part: rule,
            other: "\(rule)\n    retry: { attempts: 2 }",
            finding: "12:12 warning ackDeadlineExceeded"
        ),
        Mistake(
            description: "a former name of a key",
            part: "timeout: 3s",
            other: "timeout: 3s\nhold_limit: 20s",
            finding: "13:1 warning renamedKey",
            suggestion: "ack_deadline"
        ),
        Mistake(
            description: "a password in the file",
            part: "      topics:",
            other: "      username: kiosk\n      password: canary-4711\n      topics:",
            finding: "7:17 error secretInFile",
            advice: "{ env: NAME } or { file: PATH }"
        ),
        Mistake(
            description: "a missing key",
            part: topic,
            other: "        - { payload: json }",
            finding: "7:11 error missingKey",
            advice: "such as push/{device}/{action}"
        ),
        Mistake(
            description: "an empty 'from'",
            part: rule,
            other: "    from: []",
            finding: "11:11 error missingKey",
            suggestion: "[push]",
            advice: "from: [push]"
        ),
        Mistake(
            description: "a text with braces between brackets",
            part: "      topics:\n\(topic)",
            other: "      topics: [push/{device}/{action}]",
            finding: "6:21 error notYAML",
            advice: "quote text that has braces: \"push/{device}/{action}\""
        ),
        Mistake(
            description: "no scripts",
            part: "plugins:\n  - action: loading\n    use: print\n\(rule)",
            other: "  page: { script: {} }\nplugins:\n  - action: loading\n    use: print\n    from: [push, page]",
            finding: "8:19 warning pageWithoutScripts",
            advice: "list the scripts that 'run' executes, such as files: [page.js]"
        ),
        Mistake(
            description: "a fixed action whose plugin does not admit the topic",
            part: "\(topic)\nplugins:",
            other: "\(topic)\n        - { pattern: pay/+, action: pay }\n"
                + "  links: { links: { urls: [x], routes: [ { pattern: 'app://pay', action: pay } ] } }\n"
                + "plugins:\n  - { action: pay, use: log, from: [push] }",
            finding: "9:74 error deadLetterRoute",
            advice: "add { source: links } to the 'from' of 'pay'"
        ),
        Mistake(
            description: "an origin of a page of scripts",
            part: "plugins:\n  - action: loading\n    use: print\n\(rule)",
            other: "  page: { script: {} }\nplugins:\n  - action: loading\n    use: print\n"
                + "    from: [push, { source: page, origin: 'https://a.example' }]",
            finding: "12:42 warning originOfScripts",
            advice: "remove 'origin', unless only 'bridge' reads this file"
        ),
        Mistake(
            description: "an id that publishers choose",
            part: topic,
            other: "        - push/{id}/{action}",
            finding: "2:3 warning sharedID",
            advice: "rename {id}, for example to {device}, or write deduplication: automatic if each id is unique"
        ),
        Mistake(
            description: "a tag that no connection has",
            part: "plugins:\n  - action: loading\n    use: print\n",
            other: "  chat: { chat: { port: 0, absent_origin: allowed, tags: staff } }\nplugins:\n  - action: loading\n"
                + "    use: broadcast\n    to: chat\n    tag: staf\n",
            finding: "13:10 warning tagWithoutConnection",
            suggestion: "staff",
            advice: "give the chat 'tags: [staf]', or add a plugin with 'use: join' whose 'from' admits 'chat'"
        ),
        Mistake(
            description: "a capture that is not {action}",
            part: topic,
            other: "        - push/{device}/{Action}",
            finding: "7:11 warning actionCapture",
            suggestion: "push/{device}/{action}"
        ),
        Mistake(
            description: "more in flight than a quarter of the broker's queue",
            part: "      topics:",
            other: "      receive_maximum: 251\n      topics:",
            finding: "6:24 warning receiveMaximum",
            suggestion: "250"
        ),
    ]

    @Test(arguments: mistakes) func eachErrorIsReportedAsTextAndJSON(_ mistake: Mistake) async throws {
        let text = CheckLiveTests.good.replacing(mistake.part, with: mistake.other)
        let isError = mistake.finding.contains(" error ")
        for (options, isStrict) in [(["--json"], false), (["--json", "--strict"], true)] {
            let finished = try await CheckLiveTests.check([text], options)
            let objects = try finished.output.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            let words = objects.map { object in
                let values = ["line", "column", "severity", "code"].map { object[$0].map { "\($0)" } ?? "" }
                return "\(values[0]):\(values[1]) \(values[2]) \(values[3])"
            }
            #expect(words.contains(mistake.finding), "\(words)")
            let own = objects.first { mistake.finding.hasSuffix(" \($0["code"] ?? "")") }
            #expect(own?["suggestion"] as? String == mistake.suggestion && own?["advice"] as? String == mistake.advice)
            #expect(finished.status == (isError || isStrict ? 65 : 0))
        }
        let words = mistake.finding.split(separator: " ")
        let finished = try await CheckLiveTests.check([text])
        #expect(
            finished.output.contains { line in
                line.hasPrefix("0.yaml:\(words[0]): \(words[1]): ") && line.hasSuffix(" [\(words[2])]")
            }
        )
    }

    @Test(arguments: mistakes.filter { $0.suggestion != nil })
    func aSuggestionReplacesTheKeyOrValueAtItsPosition(_ mistake: Mistake) async throws {
        let suggestion = try #require(mistake.suggestion)
        let position = try mistake.finding.split(separator: " ")[0].split(separator: ":").map { try #require(Int($0)) }
        var lines = CheckLiveTests.good.replacing(mistake.part, with: mistake.other).components(separatedBy: "\n")
        let line = lines[position[0] - 1]
        let start = line.index(line.startIndex, offsetBy: position[1] - 1)
        let faulty = line[start...].prefix { $0 != ":" }
        lines[position[0] - 1] = line[..<start] + suggestion + line[start...].dropFirst(faulty.count)
        let finished = try await CheckLiveTests.check([lines.joined(separator: "\n")], ["--strict"])
        #expect(finished.status == 0, "\(finished.output)")
    }

    @Test func everyCodeIsDocumented() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/commands/check.md", limit: 1 << 20).get()
        let text = String(decoding: bytes, as: UTF8.self)
        let rows = text.split(separator: "\n").filter {
            $0.hasPrefix("| `")
                && ($0.contains("| error |") || $0.contains("| warning |") || $0.contains("| error or warning |"))
        }
        let codes = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(codes == ProblemCode.allCases.map(\.rawValue))
    }
}
