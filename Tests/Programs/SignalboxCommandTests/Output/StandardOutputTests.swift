import ArgumentParser
import BrokerKit
import Dispatch
import Foundation
import Logging
import Testing

@testable import NavigationChain
@testable import SignalboxCommand
@testable import SignalboxCore
@testable import SignalboxRoutes

@Suite struct StandardOutputTests {
    private static let line = Array(repeating: UInt8(ascii: "x"), count: 1_000_000)

    private static func output(_ pipe: Pipe, limit: Int = 16 << 20) -> StandardOutput {
        StandardOutput(
            descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor),
            limit: limit
        )
    }

    @Test func finishWritesAllLines() async throws {
        let pipe = Pipe.unshared()
        let output = StandardOutputTests.output(pipe)
        output.offer([1, 2, 3])
        #expect(await output.finish(within: .seconds(600)) == nil)
        #expect(try pipe.fileHandleForReading.read(upToCount: 3) == Data([1, 2, 3]))
    }

    @Test func finishReportsAClosedReader() async throws {
        let pipe = Pipe.unshared()
        signal(SIGPIPE, SIG_IGN)
        let output = StandardOutputTests.output(pipe)
        try pipe.fileHandleForReading.close()
        output.offer([1])
        #expect(await output.finish(within: .seconds(600)) == .closed)
    }

    @Test func finishReportsAStalledReaderAndDroppedLines() async throws {
        let pipe = Pipe.unshared()
        let output = StandardOutputTests.output(pipe, limit: 10)
        // More than a pipe holds.
        output.offer(StandardOutputTests.line)
        #expect(await output.finish(within: .milliseconds(1)) == .stalled)
        while output.droppedLines == 0 { output.offer(Array(repeating: 1, count: 8)) }
        Thread.detachNewThread { while !pipe.fileHandleForReading.availableData.isEmpty {} }
        #expect(await output.finish(within: .seconds(600)) == .full)
        try pipe.fileHandleForWriting.close()
    }
}

@Suite struct DiagnosticOutputTests {
    @Test func theRateIsShownOnlyWithDiagnostics() throws {
        let arguments = ["mqtt://a", "-t", "b", "--rate"]
        #expect(try SubscribeCommand.parse(arguments).rate)
        #expect(throws: (any Error).self) { try SubscribeCommand.parse(arguments + ["--quiet"]) }
    }

    @Test func aQuietOutputOnlyReportsErrorsOfTheArguments() async throws {
        let pipe = Pipe.unshared()
        let writer = pipe.fileHandleForWriting
        let output = DiagnosticOutput(descriptor: OutputDescriptor(number: writer.fileDescriptor))
        output.report("first", level: .info)
        output.use(.json, isQuiet: true)
        output.report("second")
        output.report("third", evenIfQuiet: true)
        output.offer("fourth\n")
        #expect(await output.flush(within: .seconds(600)))
        try writer.close()
        let lines = await LineStream(pipe.fileHandleForReading).rest()
        #expect(lines.count == 3 && lines.first == "signalbox: first" && lines.last == "fourth", "\(lines)")
        #expect(lines.dropFirst().first?.hasSuffix(#""level":"error","message":"third"}"#) == true, "\(lines)")
    }

    @Test func eachLineIsWrittenOrCountedOnce() async throws {
        let pipe = Pipe.unshared()
        let writer = pipe.fileHandleForWriting
        let output = DiagnosticOutput(descriptor: OutputDescriptor(number: writer.fileDescriptor), limit: 200)
        let lines = LineStream(pipe.fileHandleForReading)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<20_000 { output.offer("line\n") }
        }
        #expect(await output.flush(within: .seconds(600)))
        // Nothing waits, so this line is taken and reports the missing ones.
        output.offer("line\n")
        #expect(await output.flush(within: .seconds(600)))
        try writer.close()
        var (written, dropped) = (0, 0)
        for line in await lines.rest() {
            guard line.hasPrefix("("), let number = Int(line.dropFirst().prefix { $0 != " " }) else {
                #expect(line == "line")
                written += 1
                continue
            }
            #expect(number > 0)
            dropped += number
        }
        #expect(written + dropped == 160_001)
    }
}

@Suite struct TerminalColorTests {
    @Test func onlyATerminalThatIsNotDumbHasColours() {
        let on = { TerminalColor.isOn(isTerminal: $0, environment: $1) }
        #expect(on(true, [:]) && on(true, ["NO_COLOR": ""]) && on(true, ["TERM": "xterm-256color"]))
        #expect(
            !on(false, ["TERM": "xterm"]) && !on(true, ["NO_COLOR": "1", "TERM": "xterm"])
                && !on(true, ["TERM": "dumb"])
        )
    }

    @Test func aColourChangesNoVisibleCharacter() {
        for color in TerminalColor.allCases {
            let colored = color.applied(to: "handled", isOn: true)
            #expect(colored.replacing(/\u{1B}\[\d*m/, with: "") == "handled" && colored.hasSuffix("\u{1B}[0m"))
            #expect(color.applied(to: "handled", isOn: false) == "handled")
        }
    }
}

@Suite struct RawOutputTests {
    private let hostile = Array("\u{1B}]0;title\u{07}\u{9B}2J\ta\nb\u{202E}ä".utf8) + [0xFF]

    @Test func controlCharactersAreEscapedForATerminal() {
        let shown = String(decoding: RawOutput.auto.bytes(hostile, isTerminal: true), as: UTF8.self)
        #expect(!shown.unicodeScalars.contains { $0 != "\n" && $0 != "\t" && $0.isUnsafeInLine })
        #expect(shown.hasPrefix("\\e]0;title") && shown.contains("\ta\nb") && shown.hasSuffix("ä\u{FFFD}"))
    }

    @Test func rawBytesAreWrittenToPipesOrOnRequest() {
        #expect(RawOutput.auto.bytes(hostile, isTerminal: false) == hostile)
        for isTerminal in [false, true] {
            #expect(RawOutput.always.bytes(hostile, isTerminal: isTerminal) == hostile)
        }
    }

    @Test(
        arguments: [
            (["--raw", "mqtt://a", "-t", "b"], RawOutput.auto), (["mqtt://a", "--raw=always", "-t", "b"], .always),
            (["mqtt://a", "-t", "b", "--raw"], .auto), (["mqtt://a", "--raw", "-t", "b"], .auto),
            (["mqtt://a", "-t", "b"], nil),
        ] as [([String], RawOutput?)]
    )
    func theRawOptionMayHaveNoValue(arguments: [String], raw: RawOutput?) throws {
        let command = try SubscribeCommand.parse(arguments)
        #expect(command.output.raw == raw && command.broker.urls == ["mqtt://a"])
    }

    @Test(arguments: ["--raw=alwasy", "--raw=never"]) func anUnknownKeywordIsRefused(option: String) {
        #expect(throws: (any Error).self) { try SubscribeCommand.parse(["mqtt://a", "-t", "b", option]) }
    }
}

@Suite struct LineSplitterTests {
    /// Returns the lines of a text that arrives in chunks of `chunk` bytes.
    private static func lines(_ text: String, chunk: Int, limit: Int = 8) -> [InputLine] {
        var splitter = LineSplitter(limit: limit)
        var rest = Array(text.utf8)[...]
        var lines: [InputLine] = []
        while !rest.isEmpty {
            lines += splitter.lines(in: Array(rest.prefix(chunk)))
            rest = rest.dropFirst(chunk)
        }
        return lines + [splitter.lastLine()].compactMap { $0 }
    }

    private static func line(_ text: String, isTruncated: Bool = false) -> InputLine {
        InputLine(Array(text.utf8), isTruncated: isTruncated)
    }

    @Test(arguments: 1...12) func chunkSizesDoNotChangeLines(_ chunk: Int) {
        let line = LineSplitterTests.line
        let found = LineSplitterTests.lines(
            "a\n\nbc\r\n\r\n12345678\n12345678\r\n123456789\n1234567\r8\nlast",
            chunk: chunk
        )
        let expected = [
            line("a", false), line("", false), line("bc", false), line("", false), line("12345678", false),
            line("12345678", false), line("12345678", true), line("1234567\r", true), line("last", false),
        ]
        #expect(found == expected)
    }

    @Test func theLastLineNeedsNoLineFeed() {
        #expect(LineSplitterTests.lines("a\nb", chunk: 9).map(\.bytes) == [Array("a".utf8), Array("b".utf8)])
        #expect(LineSplitterTests.lines("a\nb\n", chunk: 9).count == 2)
        #expect(LineSplitterTests.lines("", chunk: 9).isEmpty)
    }

    @Test func aCarriageReturnEndsALineOnlyBeforeALineFeed() {
        #expect(LineSplitterTests.lines("a\rb\r", chunk: 9) == [LineSplitterTests.line("a\rb\r")])
    }

    @Test func longLinesAreTruncatedAtTheLimit() {
        let found = LineSplitterTests.lines(String(repeating: "x", count: 100_000) + "\ny\n", chunk: 64)
        #expect(found == [LineSplitterTests.line("xxxxxxxx", isTruncated: true), LineSplitterTests.line("y")])
    }

    @Test func invalidUTF8IsReportedWithItsPosition() {
        let line = InputLine(Array("myapp://ü/".utf8) + [0xFF, 0x61])
        #expect(throws: URLTextError(.notUTF8, at: 11, "the line is not UTF-8")) {
            () throws(URLTextError) in try line.text()
        }
        #expect(line.content.text == nil)
        #expect(line.shown == "(13 bytes)")
    }

    @Test func truncationDropsAnIncompleteCharacter() {
        let line = InputLine(Array("a€".utf8.dropLast()), isTruncated: true)
        #expect(line.content.text == "a")
        #expect(line.shown == "a…")
        #expect(throws: URLTextError(.tooLong, at: 3, "expected at most 3 bytes")) {
            () throws(URLTextError) in try line.text()
        }
    }
}

/// NavigationChain imports no other module, so it has its own table.
@Suite struct UnsafeScalarTests {
    @Test func allModulesEscapeTheSameScalars() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isUnsafe = scalar.isUnsafeInLine
            if NavigationLogText.isUnsafe(scalar) != isUnsafe {
                Issue.record("NavigationChain differs at \(scalar.lineEscape)")
            }
            let text = String(scalar)
            if (LineEscape.escaped(text) != text) != isUnsafe {
                Issue.record("the command differs at \(scalar.lineEscape)")
            }
        }
    }
}
