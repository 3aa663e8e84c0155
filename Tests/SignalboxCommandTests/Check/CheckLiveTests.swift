import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct CheckLiveTests {
    private static let good = ConfigurationFixture.lines.joined(separator: "\n")
    private static let doubtful = good.replacing("source: push }", with: "source: push, topic: x }")
    private static let bad = good.replacing("timeout: 3s", with: "timout: 3s")

    private static func check(_ texts: [String], _ options: [String] = []) async throws -> CommandProcess.Finished {
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
    func theStatusTellsWhetherItWouldRun(_ texts: [String], _ options: [String], _ status: Int32) async throws {
        #expect(try await CheckLiveTests.check(texts, options).status == status)
    }

    @Test func aLineIsOneThatEditorsRead() async throws {
        let finished = try await CheckLiveTests.check([CheckLiveTests.bad, CheckLiveTests.doubtful])
        #expect(finished.output.count == 3)
        let line = "0.yaml:12:1: error: timout: unknown key 'timout'; did you mean 'timeout'?; known here: "
        #expect(finished.output.first?.hasPrefix(line) == true)
        #expect(finished.output.first?.hasSuffix(" [unknownKey]") == true)
        #expect(finished.output.dropFirst().allSatisfy { $0.hasPrefix("1.yaml:") && $0.contains(": warning: ") })
        #expect(finished.errors == ["signalbox: 1 error, 2 warnings in 2 files"])
    }

    @Test func aFindingIsOneObjectForPrograms() async throws {
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

    @Test func aFileThatIsNotThereIsAFindingToo() async throws {
        let finished = try await CommandProcess.run(["check", "/nowhere/a.yaml", "--json"])
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
        #expect(finished.output.count == 1)
        #expect(finished.output.first?.contains(#""code":"unreadableFile","message":"cannot be read: "#) == true)
    }

    @Test func everyCodeIsDocumented() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/configuration.md", limit: 1 << 20).get()
        let text = String(decoding: bytes, as: UTF8.self)
        let rows = text.split(separator: "\n").filter {
            $0.hasPrefix("| `")
                && ($0.contains("| error |") || $0.contains("| warning |") || $0.contains("| error or warning |"))
        }
        let codes = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(codes == ProblemCode.allCases.map(\.rawValue))
    }
}
