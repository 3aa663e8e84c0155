import ArgumentParser
import Testing

@testable import SignalboxCommand

@Suite struct RawOutputTests {
    private let hostile = Array("\u{1B}]0;title\u{07}\u{9B}2J\ta\nb\u{202E}ä".utf8) + [0xFF]

    @Test func aTerminalIsNotActedOn() {
        let shown = String(decoding: RawOutput.auto.line(hostile, isTerminal: true), as: UTF8.self)
        #expect(!shown.unicodeScalars.contains { $0 != "\n" && $0 != "\t" && LineEscape.isUnsafe($0) })
        #expect(shown.hasPrefix("\\e]0;title") && shown.contains("\ta\nb") && shown.hasSuffix("ä\u{FFFD}\n"))
    }

    @Test func elsewhereItIsWrittenAsItCame() {
        #expect(RawOutput.auto.line(hostile, isTerminal: false) == hostile + [10])
        for isTerminal in [false, true] {
            #expect(RawOutput.always.line(hostile, isTerminal: isTerminal) == hostile + [10])
        }
    }

    @Test(
        arguments: [
            (["--raw", "mqtt://a", "-t", "b"], RawOutput.auto), (["mqtt://a", "--raw=always", "-t", "b"], .always),
            (["mqtt://a", "-t", "b", "--raw"], .auto), (["mqtt://a", "--raw", "-t", "b"], .auto),
            (["mqtt://a", "-t", "b"], nil),
        ] as [([String], RawOutput?)]
    )
    func theOptionMayStandAlone(arguments: [String], raw: RawOutput?) throws {
        let command = try SubscribeCommand.parse(arguments)
        #expect(command.raw == raw && command.broker == "mqtt://a")
    }

    @Test(arguments: ["--raw=alwasy", "--raw=never"]) func anotherWordIsRefused(option: String) {
        #expect(throws: (any Error).self) { try SubscribeCommand.parse(["mqtt://a", "-t", "b", option]) }
    }
}
