import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// docs/cli-from-mosquitto.md names only options that exist, and its command lines parse.
@Suite struct MosquittoGuideTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")

    private static func text(_ name: String) throws -> String {
        String(decoding: try FileContent.read("\(root)/docs/\(name)", limit: 1 << 20).get(), as: UTF8.self)
    }

    private static func rows() throws -> [[Substring]] {
        try text("cli-from-mosquitto.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            // A pipe within an example is escaped with a backslash.
            line.replacing("\\|", with: "/").split(separator: "|").map { Substring($0) }
        }
    }

    /// Returns the words in back quotes.
    private static func code(_ cell: Substring) -> [Substring] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(
            \.element
        )
    }

    /// Splits a command line of the guide into arguments, like a shell.
    private static func arguments(_ line: Substring) throws -> [String] {
        let command = try #require(line.split(separator: "signalbox ", omittingEmptySubsequences: false).last)
        return ShellWords.split(String(command.prefix { $0 != ">" }))
    }

    @Test func eachCommandLineParses() throws {
        var found: [String: Int] = [:]
        for row in try Self.rows() where row.count >= 3 {
            for line in Self.code(row[2]) where line.contains("signalbox ") {
                var arguments = try Self.arguments(line)
                let command = arguments.removeFirst()
                found[command, default: 0] += 1
                switch command {
                case "subscribe": _ = try SubscribeCommand.parse(arguments)
                case "publish": _ = try PublishCommand.parse(arguments)
                case "request": _ = try RequestCommand.parse(arguments)
                default: Issue.record("\(line)")
                }
            }
        }
        #expect(found["subscribe", default: 0] >= 7 && found["publish", default: 0] >= 5 && found["request"] == 1)
    }

    @Test func eachOptionOfMosquittosClientsHasARow() async throws {
        let sections = try Self.text("cli-from-mosquitto.md").split(separator: "\n## ")
        let common = try #require(sections.first { $0.hasPrefix("Options of all three") })
        for program in ["mosquitto_sub", "mosquitto_pub", "mosquitto_rr"] {
            let own = try #require(sections.first { $0.hasPrefix("`\(program)`") })
            let rows = "\(common)\n\(own)".split(separator: "\n").filter { $0.hasPrefix("| ") }
            let named = Set(rows.compactMap { $0.split(separator: "|").first }.flatMap(Self.code).map(String.init))
            var help = ""
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("help")
                _ = try await RunningProgram(program, ["--help"], output: file).status()
                help = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            }
            // As in `[-C msg_count]`, ` -C :` and `{--cafile file | --capath dir}`.
            let options = Set(help.matches(of: /(?:^|[ \[{(])(--?[A-Za-z][A-Za-z0-9-]*)/).map { String($0.output.1) })
            #expect(options.count > 30, "\(program): \(help)")
            for option in options { #expect(named.contains(option), "\(program) \(option)") }
        }
    }

    @Test func eachNamedOptionExists() throws {
        let helps = [SubscribeCommand.helpMessage(), PublishCommand.helpMessage(), RequestCommand.helpMessage()]
        let help = helps.joined(separator: "\n")
        var found = 0
        for row in try Self.rows() where row.count >= 3 && !row[2].contains("`signalbox ") {
            for word in Self.code(row[1]) + Self.code(row[2]) where word.hasPrefix("--") {
                let option = try #require(word.split(separator: " ").first)
                // The third column also mentions mosquitto's options.
                guard Self.code(row[1]).contains(word) || !row[0].contains(option) else { continue }
                guard option != "--tls-use-os-certs" else { continue }
                found += 1
                #expect([" ", "\n", ","].contains { help.contains("\(option)\($0)") }, "\(option) in \(row)")
            }
        }
        #expect(found > 25)
    }

    @Test func eachNamedKeyExists() throws {
        let keys = try KnownKeys.paths()
        let named = try Self.rows().filter { $0.count >= 3 }.flatMap { Self.code($0[1]) }.filter {
            $0.hasPrefix("mqtt.")
        }
        #expect(named.count > 3)
        for key in named { #expect(keys.contains(String(key)), "\(key)") }
    }

    @Test func eachOptionIsDocumented() throws {
        let shared = try Self.text("commands/subscribe.md")
        let publish = try Self.text("commands/publish.md")
        let request = try Self.text("commands/request.md")
        for (help, page) in [
            (SubscribeCommand.helpMessage(), shared), (PublishCommand.helpMessage(), "\(shared)\(publish)"),
            (RequestCommand.helpMessage(), "\(shared)\(publish)\(request)"),
        ] {
            let options = help.split(separator: "\n").filter { $0.hasPrefix("  -") }.flatMap { line in
                line.split(separator: " ").prefix(3).filter { $0.hasPrefix("--") }
            }
            for option in Set(options.map { $0.filter { $0 != "," } }).subtracting(["--version", "--help"]) {
                #expect(page.contains("`\(option)"), "\(option)")
            }
            #expect(options.count > 12)
        }
    }
}

/// docs/cli-from-websocat.md names only options that exist.
@Suite struct WebSocketGuideTests {
    private static func rows() throws -> [[Substring]] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/cli-from-websocat.md", limit: 1 << 20).get()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.filter { $0.hasPrefix("| ") }.map { line in
            // A pipe within an example is escaped with a backslash.
            line.replacing("\\|", with: "/").split(separator: "|").map { Substring($0) }
        }
    }

    /// Returns the words in back quotes.
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

    @Test func eachNamedOptionExists() async throws {
        let help = try await Self.helps()
        var found = 0
        for row in try Self.rows() where row.count >= 3 {
            // Our options: the third column of the first table, the second column and text of the others.
            let isExample = row[2].contains("`signalbox ")
            for word in (isExample ? row[2...2] : row[1...]).flatMap(Self.code) {
                for option in word.split(separator: " ") where option.hasPrefix("--") {
                    found += 1
                    #expect([" ", "\n", ","].contains { help.contains("\(option)\($0)") }, "\(option) in \(row)")
                }
            }
        }
        #expect(found > 40)
    }

    @Test func eachNamedKeyExists() throws {
        let keys = try KnownKeys.paths()
        var found = 0
        for row in try Self.rows() where row.count >= 3 {
            for word in Self.code(row[1]) where word.contains(".") && !word.contains(" ") {
                found += 1
                #expect(keys.contains(String(word)), "\(word)")
            }
        }
        #expect(found > 9)
    }

    @Test func eachOptionOfTheOtherClientsHasARow() throws {
        let rows = try Self.rows()
        let wscat = try #require(rows.firstIndex { $0.first == " wscat " })
        for (client, rows, options) in [
            ("websocat", rows[..<wscat], OtherClients.websocat), ("wscat", rows[wscat...], OtherClients.wscat),
        ] {
            let named = Set(rows.compactMap(\.first).flatMap(Self.code).map(String.init))
            for option in options.split(separator: /\s+/) {
                #expect(named.contains(String(option)), "\(client) \(option)")
            }
        }
    }

    @Test func eachOptionIsOnItsCommandsPage() async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        for command in ["connect", "serve"] {
            let bytes = try FileContent.read("\(root)/docs/commands/\(command).md", limit: 1 << 20).get()
            let page = String(decoding: bytes, as: UTF8.self)
            let help = try await CommandProcess.run([command, "--help"]).output
            let options = help.filter { $0.hasPrefix("  -") }.compactMap { line in
                line.split { $0 == " " || $0 == "," }.first { $0.hasPrefix("--") }
            }
            for option in Set(options).subtracting(["--version", "--help"]) {
                #expect(page.contains("`\(option)"), "\(option)")
            }
            #expect(options.count > 4)
        }
    }
}

/// A page of the documentation.
private struct GuidePage {
    static let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")

    /// The path from the root of the repository.
    let path: String
    let text: String

    init(_ path: String) throws {
        self.path = path
        text = String(decoding: try FileContent.read("\(Self.root)/\(path)", limit: 1 << 20).get(), as: UTF8.self)
    }

    /// Returns README.md and all pages in docs.
    static func all() throws -> [GuidePage] {
        let names = try #require(FileManager.default.enumerator(atPath: "\(root)/docs")).compactMap { $0 as? String }
        let pages = names.filter { $0.hasSuffix(".md") }.sorted()
        #expect(pages.count > 50)
        return try ["README.md"].map(GuidePage.init) + pages.map { try GuidePage("docs/\($0)") }
    }

    /// The lines outside fenced code.
    var lines: [Substring] {
        var isCode = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode && !line.hasPrefix("```")
        }
    }

    /// The targets of links to files of the repository.
    var links: [Substring] {
        lines.joined(separator: "\n").matches(of: /\]\(([^)\s]+)\)/).map(\.1).filter { !$0.contains(":") }
    }

    /// The anchors of the headings, as GitHub names them, and those that the page sets itself.
    var anchors: Set<String> {
        let headings = lines.filter { $0.hasPrefix("#") }.map { line in
            let title = line.drop { $0 == "#" }.dropFirst().replacing(/\]\([^)]*\)/, with: "").lowercased()
            return title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
        }
        return Set(headings).union(text.matches(of: /<a id="([^"]+)">/).map { String($0.output.1) })
    }

    /// The sentences: no headings, no code.
    var prose: String {
        lines.filter { !$0.hasPrefix("#") && !$0.hasPrefix("    ") }.joined(separator: "\n").replacing(
            /`[^`]*`/,
            with: "`"
        )
    }

    /// Resolves a link of this page to a path from the root of the repository.
    func target(_ link: Substring) -> String {
        let folder = path.split(separator: "/").dropLast()
        return link.split(separator: "/").reduce(into: Array(folder)) { parts, part in
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }.joined(separator: "/")
    }
}

/// The pages are short, begin with examples, use no term before it is explained, and their links lead somewhere.
@Suite struct GuidePageTests {
    /// The words of docs/glossary.md that readers cannot know, each with its anchor.
    private static let terms: [(anchor: String, words: String)] = [
        ("abandoned", "abandon(?:s|ed|ing|ment)?"), ("arrival", "arrivals?"), ("custody", "custody"),
        ("facts", "facts?"),
        ("intake", "intakes?"), ("lane", "lanes?"), ("settle", "(?:un)?settle(?:s|d|ments?)?|settling"),
    ]

    @Test func noPageIsLong() throws {
        for page in try GuidePage.all() where page.path != "docs/CHANGELOG.md" {
            let words = page.text.split { $0 == " " || $0 == "\n" }.count
            #expect(words <= 2_000, "\(page.path)")
        }
    }

    @Test func eachLinkLeadsToAFileAndAHeading() throws {
        var found = 0
        for page in try GuidePage.all() {
            for link in page.links {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let target = parts[0].isEmpty ? page.path : page.target(parts[0])
                #expect(FileManager.default.fileExists(atPath: "\(GuidePage.root)/\(target)"), "\(page.path): \(link)")
                if parts.count > 1, target.hasSuffix(".md") {
                    #expect(try GuidePage(target).anchors.contains(String(parts[1])), "\(page.path): \(link)")
                }
                found += 1
            }
        }
        #expect(found > 200)
    }

    @Test func theIndexHasEachPage() throws {
        let index = try GuidePage("docs/README.md")
        let listed = index.links.map(index.target)
        for page in try GuidePage.all() where page.path != index.path {
            #expect(listed.count { $0 == page.path } == 1, "\(page.path)")
        }
    }

    @Test func pagesOfCommandsAndKeysBeginWithAnExample() throws {
        let pages = try GuidePage.all().filter {
            $0.path.hasPrefix("docs/command") || $0.path.hasPrefix("docs/configuration")
        }
        for page in pages {
            let lines = page.text.split(separator: "\n")
            let code = try #require(lines.firstIndex { $0.hasPrefix("```") || $0.hasPrefix("    ") }, "\(page.path)")
            #expect(code < lines.firstIndex { $0.hasPrefix("|") } ?? lines.endIndex, "\(page.path)")
        }
        #expect(pages.count > 24)
    }

    @Test func theFirstUseOfATermIsALinkToTheGlossary() throws {
        let glossary = try GuidePage("docs/glossary.md")
        for (number, term) in Self.terms.enumerated() {
            #expect(glossary.anchors.contains(term.anchor))
            let use = try Regex("(?i)\\b(?:\(term.words))\\b")
            let link = try Regex("\\[[^\\]]*\\]\\([^)]*glossary\\.md#\(term.anchor)\\)")
            for page in try GuidePage.all() where ![glossary.path, "docs/CHANGELOG.md"].contains(page.path) {
                let marked = page.prose.replacing(link, with: "<\(number)>").replacing(/\]\([^)]*\)/, with: "]")
                guard let first = marked.firstRange(of: use) else { continue }
                let linked = marked.firstRange(of: "<\(number)>")?.lowerBound
                #expect(linked.map { $0 < first.lowerBound } == true, "\(page.path): \(marked[first])")
            }
        }
    }

    @Test func eachExampleNamesTheSchema() throws {
        let schema = try GuidePage("docs/configuration.schema.json")
        let object = try JSONSerialization.jsonObject(with: Data(schema.text.utf8)) as? [String: Any]
        let id = try #require(object?["$id"] as? String)
        #expect(id.hasSuffix("/\(schema.path)"))
        #expect(
            try GuidePage("docs/configuration.md").text.contains("```yaml\n# yaml-language-server: $schema=\(id)\n")
        )
        let names = try #require(FileManager.default.enumerator(atPath: "\(GuidePage.root)/examples"))
        let files = names.compactMap { $0 as? String }.filter { $0.hasSuffix(".yaml") && !$0.contains(".build/") }
        for file in files {
            let page = try GuidePage("examples/\(file)")
            let line = try #require(page.text.split(separator: "\n").first)
            let link = try #require(line.split(separator: "# yaml-language-server: $schema=").first, "\(file)")
            #expect(page.target(link) == schema.path, "\(file)")
        }
        #expect(files.count > 4)
    }
}
