import Foundation
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ParseLiveTests {
    private static let routes = """
        routes:
          - { pattern: 'myapp://product/{number:int}', action: open }
          - { pattern: 'myapp://login/{token}', action: login, once: true }
        """

    @Test func goodURLsAreStatusZeroInTheirOrder() async throws {
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

    @Test func aBadLineInTheMiddleStopsNothingAndIsStatusOne() async throws {
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

    @Test func aLineLongerThanAnyURLIsOneErrorLine() async throws {
        try await LinkTrial.with { trial in
            let long = "https://a.example/" + String(repeating: "ü", count: 100_000)
            let finished = try await trial.run(["parse", "--stdin"], input: "\(long)\nmyapp:b\n")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output.count == 2)
            let first = try #require(finished.output.first)
            #expect(first.hasPrefix(#"{"input":"https://a.example/üü"#))
            #expect(
                first.hasSuffix(
                    #"ü","inputCut":true,"error":{"reason":"tooLong","offset":65536,"detail":"at most 65536 bytes expected"}}"#
                )
            )
            #expect(first.utf8.count < URLText.maximumLength + 200)
        }
    }

    @Test func routesSayWhatWouldBeCalledAndNothingIs() async throws {
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

    @Test func aConfigurationsSourceOfLinksHasRoutesToo() async throws {
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

    @Test func routesThatAreNotRightAreToldWithTheirPlaces() async throws {
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

    @Test func aReaderThatGoesAwayEndsIt() async throws {
        let command = try PipedCommand(["parse", "--stdin"])
        command.write { _ in Array("myapp:a\n".utf8) }
        #expect(await command.lines(1) >= 1)
        command.closeOutput()
        await command.ends(with: CommandStatus.outputFailed.rawValue)
    }

    /// A line is answered as soon as it is there: the input's end is not waited for.
    @Test func aLineIsAnsweredBeforeTheNextOneIsWritten() async throws {
        let command = try PipedCommand(["parse", "--stdin"])
        command.write { $0 < 1 ? Array("myapp:a\n".utf8) : nil }
        #expect(await command.lines(1) == 1)
        command.write { $0 < 1 ? Array("myapp:b\n".utf8) : nil }
        #expect(await command.lines(1) == 1)
        command.closeInput()
        await command.ends()
    }

    /// The input has 66 MiB and the output more than twice that: whoever keeps the one or the other has more than the
    /// bound. The program without input has about half of it.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")))
    func aMillionLinesTakeNoMoreMemoryThanAFew() async throws {
        let command = try PipedCommand(["parse", "--stdin"])
        let (long, short) = ([UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20) + [0x0A], Array("x\n".utf8))
        // 32 rounds of a line of 2 MiB and 31,249 short ones.
        let rest = (0..<31_249).flatMap { _ in short }
        command.write { number in number < 64 ? number % 2 == 0 ? long : rest : nil }
        #expect(await command.lines(1_000_000) == 1_000_000)
        let peak = try #require(command.peakMemory)
        #expect(peak < PipedCommand.memoryLimit, "VmHWM \(peak) KiB")
        command.closeInput()
        await command.ends(with: CommandStatus.notAsExpected.rawValue)
    }
}
