import ArgumentParser
import BrokerKit
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
        var (words, word, isQuoted, isOpen) = ([String](), "", false, false)
        for character in command.prefix(while: { $0 != ">" }) {
            if character == "'" {
                isQuoted.toggle()
                isOpen = true
            } else if character == " ", !isQuoted {
                if isOpen { words.append(word) }
                (word, isOpen) = ("", false)
            } else {
                word.append(character)
                isOpen = true
            }
        }
        return isOpen ? words + [word] : words
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

    @Test func eachOptionIsOnItsCommandsPage() async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        for command in ["connect", "serve"] {
            let bytes = try FileContent.read("\(root)/docs/commands/\(command).md", limit: 1 << 20).get()
            let page = String(decoding: bytes, as: UTF8.self)
            let help = try await CommandProcess.run([command, "--help"]).output
            let options = help.filter { $0.hasPrefix("  --") }.compactMap { $0.split { $0 == " " || $0 == "," }.first }
            for option in Set(options).subtracting(["--version", "--help"]) {
                #expect(page.contains("`\(option)"), "\(option)")
            }
            #expect(options.count > 4)
        }
    }
}
