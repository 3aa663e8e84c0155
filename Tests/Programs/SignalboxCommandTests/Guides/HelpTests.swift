import ArgumentParser
import Foundation
import Testing

@testable import SignalboxCommand

/// The help of each command fits 80 columns, has examples that can be copied, and agrees with docs/exit-status.md.
@Suite struct HelpTests {
    private static let commands = SignalboxTool.configuration.subcommands
    private static let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")

    /// The commands and their subcommands.
    private static let all = commands + commands.flatMap { $0.configuration.subcommands }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? ""
    }

    /// Returns the words that begin an example: the command, or the command and the subcommand.
    private static func words(_ command: any ParsableCommand.Type) -> [String] {
        let outer = commands.first { $0.configuration.subcommands.contains { $0 == command } }
        return (outer.map { [name($0)] } ?? []) + [name(command)]
    }

    private static func discussion(_ command: any ParsableCommand.Type) -> [Substring] {
        command.configuration.discussion.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Returns the command lines of the examples, with continued lines joined.
    private static func examples(_ command: any ParsableCommand.Type) -> [String] {
        let lines = discussion(command).drop { !$0.hasPrefix("EXAMPLE") }.dropFirst().prefix { !$0.isEmpty }
        let text = lines.joined(separator: "\n").replacing("\\\n", with: " ")
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Returns the numbers of the statuses in a discussion.
    private static func statuses(_ command: any ParsableCommand.Type) -> [Int] {
        discussion(command).drop { $0 != "EXIT STATUS" }.compactMap { line in
            line.hasPrefix("  ") && !line.hasPrefix("   ") ? line.split(separator: " ").first.flatMap { Int($0) } : nil
        }
    }

    @Test func noLineIsLongerThan80Columns() {
        for help in [SignalboxTool.helpMessage(columns: 80)]
            + Self.all.map({ SignalboxTool.helpMessage(for: $0, columns: 80) })
        {
            for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
    }

    @Test func eachExampleIsUnchangedAndParses() throws {
        for command in [SignalboxTool.self] + Self.all {
            let examples = Self.examples(command)
            #expect(!examples.isEmpty, "\(command)")
            let help = SignalboxTool.helpMessage(for: command, columns: 80)
            for line in Self.discussion(command).drop(while: { !$0.hasPrefix("EXAMPLE") }).prefix(while: { !$0.isEmpty }
            ) {
                #expect(help.contains("\n\(line)\n"), "the parser breaks \(line)")
            }
            for example in examples {
                for part in example.split(separator: " && ").flatMap({ $0.split(separator: " | ") }) {
                    let words = ShellWords.split(String(part))
                    guard words.first == "signalbox" else { continue }
                    #expect(throws: Never.self, "\(part)") { try SignalboxTool.parseAsRoot(Array(words.dropFirst())) }
                    let isOwn = words.dropFirst().starts(with: Self.words(command))
                    #expect(command == SignalboxTool.self || isOwn, "\(part)")
                }
            }
        }
    }

    @Test func eachStatusIsInTheTableOfTheDocumentation() throws {
        let bytes = try FileContent.read("\(Self.root)/docs/exit-status.md", limit: 1 << 20).get()
        let rows = String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("| ") }.map {
            line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let table = rows.compactMap { row in Int(row[0]).map { (status: $0, commands: row[2]) } }
        for command in Self.commands {
            let name = Self.name(command)
            let documented = table.filter { row in
                row.commands == "all" || row.commands.split(separator: ", ").contains("`\(name)`")
            }
            #expect(documented.map(\.status) == Self.statuses(command), "\(name)")
        }
        #expect(Self.statuses(SignalboxTool.self) == table.map(\.status))
    }
}

/// Splits a command line into arguments, like a shell. It knows words in single quotes only.
enum ShellWords {
    static func split(_ line: String) -> [String] {
        var (words, word, isQuoted, isOpen) = ([String](), "", false, false)
        for character in line {
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
}
