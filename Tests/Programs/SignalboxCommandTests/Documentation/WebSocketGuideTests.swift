import Testing

@testable import SignalboxCommand

/// docs/cli-from-websocat.md names nothing that is not there.
@Suite struct WebSocketGuideTests {
    private static func rows() throws -> [[Substring]] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/cli-from-websocat.md", limit: 1 << 20).get()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.filter { $0.hasPrefix("| ") }.map { line in
            // A pipe within an example is written with a backslash.
            line.replacing("\\|", with: "/").split(separator: "|").map { Substring($0) }
        }
    }

    /// The words in back quotes.
    private static func code(_ cell: Substring) -> [Substring] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(
            \.element
        )
    }

    private static func helps() async throws -> String {
        var lines: [String] = []
        for command in ["connect", "serve"] { lines += try await CommandProcess.run([command, "--help"]).output }
        return lines.joined(separator: "\n")
    }

    @Test func eachOptionThatIsNamedIsThere() async throws {
        let help = try await Self.helps()
        var found = 0
        for row in try Self.rows() where row.count >= 3 {
            // Of the first table the third column is ours, of the others the second; text speaks of ours too.
            let isExample = row[2].contains("`signalbox ")
            for word in (isExample ? row[2...2] : row[1...]).flatMap(Self.code) {
                for option in word.split(separator: " ") where option.hasPrefix("--") {
                    found += 1
                    #expect(help.contains("\(option) ") || help.contains("\(option)\n"), "\(option) in \(row)")
                }
            }
        }
        #expect(found > 40)
    }

    @Test func eachKeyThatIsNamedIsThere() throws {
        let keys = Set(MappingKeys.all.flatMap { mapping in mapping.keys.map { "\(mapping.name).\($0)" } })
        var found = 0
        for row in try Self.rows() where row.count >= 3 {
            for word in Self.code(row[1]) where word.contains(".") && !word.contains(" ") {
                found += 1
                #expect(keys.contains(String(word)), "\(word)")
            }
        }
        #expect(found > 9)
    }

    @Test func eachOptionOfConnectIsInItsSection() async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/command.md", limit: 1 << 20).get()
        let text = String(decoding: bytes, as: UTF8.self)
        for (command, title) in [("connect", "## `signalbox connect [URL]`"), ("serve", "## `signalbox serve ")] {
            let section = try #require(text.split(separator: "\n## ").first { "## \($0)".hasPrefix(title) })
            let help = try await CommandProcess.run([command, "--help"]).output
            let options = help.filter { $0.hasPrefix("  --") }.compactMap { $0.split(separator: " ").first }
            for option in Set(options).subtracting(["--version", "--help"]) {
                #expect(section.contains("`\(option)"), "\(option)")
            }
            #expect(options.count > 4)
        }
    }
}
