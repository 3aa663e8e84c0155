import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct RunLinksTests {
    /// - Parameter links: The key for the origin of the links.
    private static func configuration(_ links: String, fallback: String = "") -> String {
        """
        sources:
          links:
            links:
              routes:
                - { pattern: 'myapp://product/{number:int}', action: open }
                - { pattern: 'https://shop.example/product/{number:int}?q={term}', action: open }
                - { pattern: 'myapp://login/{token}', action: login, once: true }
                - { pattern: 'myapp://do/{action}' }
              \(fallback)
              \(links)
        plugins:
          - { action: open, use: print, from: [ { source: links, scheme: myapp }, { source: links, host: shop.example } ] }
          - { action: login, use: reply, value: 1, from: [ { source: links } ] }
          - { action: restart, use: log, from: [ { source: internal } ] }
          - { action: other, use: log, from: [ { source: links } ] }
        """
    }

    private static func run(_ configuration: String, files: [String: String] = [:], input: [UInt8]? = nil) async throws
        -> CommandProcess.Finished
    {
        var finished: CommandProcess.Finished?
        try await LinkTrial.with(files.merging(["c.yaml": configuration]) { $1 }) { trial in
            finished = try await trial.run(["run", "c.yaml", "--outcomes"], input: input)
        }
        return try #require(finished)
    }

    private static func outcomes(_ finished: CommandProcess.Finished) -> [String] {
        finished.output.filter { $0.contains("\"outcome\":") }
    }

    @Test func linksAreReadFromListFileAndStdinInOrder() async throws {
        let links = "urls: ['myapp://product/1', 'myapp://product/2']\n      file: l.txt\n      standard_input: true"
        let finished = try await RunLinksTests.run(
            RunLinksTests.configuration(links),
            files: ["l.txt": "myapp://product/3\n\nmyapp://product/4"],
            input: Array("myapp://product/5\r\nhttps://shop.example/product/6?q=a+b&x=y\n".utf8)
        )
        #expect(finished.status == 0)
        let printed = finished.output.filter { $0.contains("\"body\":") }
        let bodies = printed.compactMap { $0.split(separator: "\"body\":", maxSplits: 1).last }
        let expected = (1...5).map { "{\"number\":\"\($0)\"}}" } + [#"{"number":"6","term":"a b"}}"#]
        #expect(bodies.map(String.init) == expected)
        #expect(printed.first?.contains(#""scheme":"myapp","body""#) == true)
        #expect(printed.last?.contains(#""scheme":"https","host":"shop.example","body""#) == true)
        #expect(finished.errors.last == "signalbox: handled 6, rejected 0, failed 0, abandoned 0, dead letters 0")
    }

    @Test func aRefusedLinkIsADeadLetterWithItsOriginalBytes() async throws {
        let finished = try await RunLinksTests.run(RunLinksTests.configuration("urls: ['MyApp://do/restart#x']"))
        let lines = RunLinksTests.outcomes(finished)
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#""scheme":"myapp","outcome":"rejected","reason":"sourceNotAllowed""#) == true)
        #expect(lines.first?.hasSuffix(#""deadLetter":"MyApp://do/restart#x"}"#) == true)
    }

    @Test(arguments: [
        ("myapp://nowhere", #""scheme":"myapp","outcome":"rejected","reason":"unknownAction""#),
        ("other://product/1", #""scheme":"other","outcome":"rejected","reason":"unknownAction""#),
        ("https://evil.example/product/1", #""host":"evil.example","outcome":"rejected","reason":"unknownAction""#),
        ("https://u@product/1", #"{"source":"links","outcome":"rejected","reason":"malformed""#),
        ("myapp://u@product/1", #""scheme":"myapp","outcome":"rejected","reason":"unknownAction""#),
    ])
    func linksWithoutAnActionAreRejected(_ link: String, _ words: String) async throws {
        let finished = try await RunLinksTests.run(RunLinksTests.configuration("urls: ['\(link)']"))
        #expect(finished.status == 0)
        #expect(RunLinksTests.outcomes(finished).first?.contains(words) == true, "\(finished.output)")
        #expect(finished.errors.last == "signalbox: handled 0, rejected 1, failed 0, abandoned 0, dead letters 1")
    }

    @Test func unreadableQueryItemsAreInTheOutcomeAndCounted() async throws {
        let links = "urls: ['myapp://product/1?q=%FF', 'myapp://product/2?n=1&n=%ZZ&x=%', 'myapp://product/3?n=1']"
        let finished = try await RunLinksTests.run(RunLinksTests.configuration(links))
        #expect(finished.status == 0)
        let lines = RunLinksTests.outcomes(finished)
        #expect(lines.count == 3)
        #expect(lines.filter { $0.contains(#""scheme":"myapp","unreadableItems":1,"outcome":"handled""#) }.count == 1)
        #expect(lines.filter { $0.contains(#""scheme":"myapp","unreadableItems":2,"outcome":"handled""#) }.count == 1)
        #expect(lines.filter { $0.contains("unreadableItems") }.count == 2)
        // The plugin does not take the readable value for the only one.
        #expect(finished.output.contains { $0.hasSuffix(#""body":{"number":"2","n":["1"]}}"#) }, "\(finished.output)")
        let counts = "handled 3, rejected 0, failed 0, abandoned 0, dead letters 0, unreadable items 3"
        #expect(finished.errors.last == "signalbox: \(counts)")
    }

    @Test func unwrittenDeadLettersAreCountedAndSetTheStatus() async throws {
        let configuration = RunLinksTests.configuration("urls: ['myapp://nowhere', 'https://u@x', 'myapp://product/1']")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let finished = try await trial.run(["run", "c.yaml"])
            #expect(finished.status == CommandStatus.deadLettersLost.rawValue)
            let loss =
                "2 dead letters were kept in memory and lost with the process; use --outcomes to write each to stdout"
            #expect(finished.errors.dropLast().last == "signalbox: \(loss)")
            let kept = try await trial.run(["run", "c.yaml", "--outcomes"])
            #expect(kept.status == 0)
            #expect(kept.output.filter { $0.contains("\"deadLetter\":") }.count == 2)
        }
    }

    @Test func theFallbackTakesOnlyLinksOfKnownSchemes() async throws {
        let links = "urls: ['myapp://nowhere', 'https://shop.example/x', 'https://evil.example/x']"
        let finished = try await RunLinksTests.run(RunLinksTests.configuration(links, fallback: "fallback: other"))
        let lines = RunLinksTests.outcomes(finished)
        #expect(lines.filter { $0.contains(#""action":"other""#) && $0.contains(#""outcome":"handled""#) }.count == 2)
        #expect(lines.filter { $0.contains("evil.example") && $0.contains("unknownAction") }.count == 1)
        #expect(finished.errors.contains { $0.contains("action=other") && $0.contains("myapp://nowhere") })
    }

    @Test func aOnceLinkHasAStableIDThatHidesItsSecret() async throws {
        let links = "urls: ['myapp://login/canary-4711', 'MYAPP://login/canary-4711']"
        let finished = try await RunLinksTests.run(RunLinksTests.configuration(links))
        let lines = RunLinksTests.outcomes(finished)
        #expect(lines.count == 2)
        // The second is a duplicate of the first, so their ids are equal.
        let ids = lines.compactMap { line in line.firstMatch(of: /"id":"link-[^"]+"/).map { String($0.output) } }
        #expect(Set(ids).count == 1 && ids.count == 2)
        #expect(lines.count { $0.contains(#""isDuplicate":true"#) } == 1)
        #expect(!(finished.output + finished.errors).joined().contains("canary-4711"))
    }

    @Test func aRejectedLinkIsLoggedWithoutItsText() async throws {
        let finished = try await RunLinksTests.run(RunLinksTests.configuration("urls: ['https://u@login/canary-4711']"))
        #expect(finished.errors.contains { $0.contains("malformed") })
        #expect(!finished.errors.joined().contains("canary-4711"))
    }

    @Test func aLinkWithoutARouteIsLoggedWithTheNearestOne() async throws {
        let finished = try await RunLinksTests.run(
            RunLinksTests.configuration("urls: ['myapp://prodct/1?t=canary-4711']")
        )
        let lines = finished.errors.filter { $0.contains("no route matches") }
        #expect(lines.contains { $0.contains("the nearest route is") && $0.contains("myapp://product/") }, "\(lines)")
        #expect(lines.contains { $0.contains("add a route") }, "\(lines)")
        #expect(!finished.errors.joined().contains("register a plugin"))
        #expect(!finished.errors.joined().contains("canary-4711"))
    }

    @Test(arguments: [
        ("utm_campaign=50%off", ", unreadable items 1"), ("%E9=1", ", unreadable items 1"),
        ("utm_source=a&utm_source=b", ""), ("a[]=1&a[]=2", ""),
    ])
    func aTrackerDoesNotKillALink(_ query: String, _ end: String) async throws {
        let finished = try await RunLinksTests.run(RunLinksTests.configuration("urls: ['myapp://product/1?\(query)']"))
        #expect(finished.errors.last == "signalbox: handled 1, rejected 0, failed 0, abandoned 0, dead letters 0\(end)")
    }

    @Test func onlyNonUTF8AndOverlongLinesAreRejected() async throws {
        let long = "myapp://product/" + String(repeating: "1", count: 300_000)
        let input = Array("myapp://do/".utf8) + [0xFF, 0x0A] + Array("\(long)\nmyapp://product/7\n".utf8)
        let finished = try await RunLinksTests.run(RunLinksTests.configuration("standard_input: true"), input: input)
        #expect(finished.status == 0)
        let lines = RunLinksTests.outcomes(finished)
        #expect(lines.count == 3)
        #expect(lines.contains { $0.contains("controlCharacter at byte 11") })
        #expect(
            lines.contains { $0.contains("malformed") && $0.contains("myapp://product/1111") && $0.utf8.count < 66_000 }
        )
        #expect(lines.contains { $0.contains(#""outcome":"handled""#) })
    }

    @Test(arguments: [("nowhere.txt", "No such file or directory"), (".", "it is a folder")])
    func anUnreadableFileIsReportedBeforeTheRun(_ file: String, _ words: String) async throws {
        let finished = try await RunLinksTests.run(
            RunLinksTests.configuration("urls: ['myapp://product/1']\n      file: \(file)")
        )
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
        #expect(finished.errors == ["signalbox: \(file): cannot be read: \(words)"])
        #expect(finished.output.isEmpty)
    }

    @Test func aFolderAsStandardInputFailsTheSource() async throws {
        try await LinkTrial.with(["c.yaml": RunLinksTests.configuration("standard_input: true")]) { trial in
            let finished = try await CommandProcess.run(["run", "c.yaml"], folder: trial.folder, input: trial.folder)
            #expect(finished.status == CommandStatus.unavailable.rawValue)
            #expect(finished.errors.contains("signalbox: stdin: cannot be read: Is a directory"))
        }
    }

    @Test func aSignalEndsARunThatWaitsForStandardInput() async throws {
        try await LinkTrial.with(["c.yaml": RunLinksTests.configuration("standard_input: true")]) { trial in
            let command = try CommandProcess(
                ["run", "c.yaml"],
                folder: trial.folder,
                isTyped: true,
                pausesOutput: true
            )
            command.write { $0 < 1 ? Array("myapp://product/1\n".utf8) : nil }
            #expect(await command.output.countLines(1) == 1)
            command.signal(SIGTERM)
            await command.ends()
        }
    }

    /// The first links have no plugin until the configuration is reloaded, the last one has none at all.
    @Test func aLinkWaitsForThePluginThatAReloadAdds() async throws {
        let configuration = RunLinksTests.configuration("standard_input: true")
            .replacing("sources:\n  links:\n", with: "sources:\n  links:\n    hold: 1h\n")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let command = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: trial.folder, isTyped: true)
            try command.type("myapp://do/late?n=1")
            try command.type("myapp://do/late?n=2")
            try command.type("myapp://product/3")
            #expect(await command.output.line(with: "\"action\":\"open\"", "\"outcome\":\"handled\"") != nil)
            let late = "\n  - { action: late, use: reply, value: 7, from: [links] }"
            let file = trial.folder.appendingPathComponent("c.yaml")
            try "\(configuration)\(late)".write(to: file, atomically: true, encoding: .utf8)
            command.signal(SIGHUP)
            for _ in 0..<2 {
                #expect(await command.output.line(with: "\"action\":\"late\"", "\"outcome\":\"handled\"") != nil)
            }
            try command.type("myapp://do/never")
            try command.type("myapp://product/4")
            #expect(await command.output.line(with: "\"action\":\"open\"", "\"outcome\":\"handled\"") != nil)
            command.signal(SIGTERM)
            #expect(await command.output.line(with: "\"action\":\"never\"", "\"reason\":\"unknownAction\"") != nil)
            let errors = await command.errors.rest()
            #expect(errors.last?.contains("handled 4, rejected 1, failed 0, abandoned 0, dead letters 1") == true)
            await command.ends()
        }
    }

    /// The reload that adds the plugin also changes the source that holds the link.
    @Test func aLinkWaitsForThePluginWhileItsSourceChanges() async throws {
        let configuration = RunLinksTests.configuration("file: fifo")
            .replacing("sources:\n  links:\n", with: "sources:\n  links:\n    hold: 1h\n")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let fifo = trial.folder.appendingPathComponent("fifo").path
            try #require(mkfifo(fifo, 0o600) == 0)
            let command = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: trial.folder)
            // The writer stays open, so the source does not end.
            let writer = try FileHandle(forUpdating: URL(fileURLWithPath: fifo))
            try writer.write(contentsOf: Array("myapp://do/late?n=1\nmyapp://product/3\n".utf8))
            #expect(await command.output.line(with: "\"action\":\"open\"", "\"outcome\":\"handled\"") != nil)
            let late = "\n  - { action: late, use: reply, value: 7, from: [links] }"
            let next = configuration.replacing("hold: 1h", with: "window: { arrivals: 9 }") + late
            try next.write(to: trial.folder.appendingPathComponent("c.yaml"), atomically: true, encoding: .utf8)
            command.signal(SIGHUP)
            let line = await command.output.line(with: "\"action\":\"late\"")
            #expect(line?.contains("\"outcome\":\"handled\"") == true, "\(line ?? "no outcome")")
            #expect(await command.errors.line(with: "configuration reloaded", "sourcesChanged=links") != nil)
            command.signal(SIGTERM)
            await command.ends()
            try writer.close()
        }
    }

    @Test func linksWithoutAPluginDoNotKeepOthersOut() async throws {
        let configuration = RunLinksTests.configuration("standard_input: true")
            .replacing("sources:\n  links:\n", with: "sources:\n  links:\n    hold: 1h\n")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let command = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: trial.folder, isTyped: true)
            for number in 0..<6 { try command.type("myapp://do/late\(number)") }
            try command.type("myapp://product/3")
            let words = "at most 2 messages and 8388608 bytes are held, half of what the source may have in progress"
            for number in 2..<6 {
                #expect(await command.output.line(with: "\"action\":\"late\(number)\"", words) != nil)
            }
            #expect(await command.output.line(with: "\"action\":\"open\"", "\"outcome\":\"handled\"") != nil)
            command.signal(SIGTERM)
            let errors = await command.errors.rest()
            #expect(errors.last?.contains("handled 1, rejected 6, failed 0, abandoned 0") == true)
            await command.ends()
        }
    }

    @Test func heldLinksOverHalfOfThoseInProgressAreAnError() async throws {
        let configuration = RunLinksTests.configuration("urls: ['myapp://do/late']")
            .replacing("sources:\n  links:\n", with: "sources:\n  links:\n    hold: { messages: 3 }\n")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let finished = try await trial.run(["check", "c.yaml"])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            let words = "a source of links has at most 4 in progress; lower this to 2 [invalidValue]"
            #expect(finished.output.first?.hasPrefix("c.yaml:3:23: error: sources.links.hold.messages: ") == true)
            #expect(finished.output.first?.hasSuffix(words) == true, "\(finished.output)")
        }
    }

    @Test func aLinkThatWaitedInVainIsRejected() async throws {
        for hold in ["1ms", "{ time: 1ms, messages: 1 }"] {
            let configuration = RunLinksTests.configuration("urls: ['myapp://do/late']")
                .replacing("sources:\n  links:\n", with: "sources:\n  links:\n    hold: \(hold)\n")
            let finished = try await RunLinksTests.run(configuration)
            #expect(finished.status == 0)
            #expect(RunLinksTests.outcomes(finished).first?.contains("\"reason\":\"unknownAction\"") == true)
        }
    }

    @Test func aFIFOIsReadOnceAWriterOpensIt() async throws {
        try await LinkTrial.with(["c.yaml": RunLinksTests.configuration("file: fifo")]) { trial in
            let fifo = trial.folder.appendingPathComponent("fifo").path
            try #require(mkfifo(fifo, 0o600) == 0)
            let command = try CommandProcess(
                ["run", "c.yaml"],
                folder: trial.folder,
                isTyped: true,
                pausesOutput: true
            )
            Thread.detachNewThread {
                let writer = FileHandle(forWritingAtPath: fifo)
                try? writer?.write(contentsOf: Array("myapp://product/1\nmyapp://product/2\n".utf8))
                try? writer?.close()
            }
            #expect(await command.output.countLines(2) == 2)
            await command.ends()
        }
    }

    /// The input has 30 MB of links above the message limit: parsing them as URLs would only take time.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")))
    func memoryForManyLinksIsBounded() async throws {
        let bounds = "limits: { message_bytes: 100 }\ndead_letters: { count: 10, bytes: 1KiB }\n"
        let configuration = RunLinksTests.configuration("standard_input: true") + "\n\(bounds)"
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let command = try CommandProcess(
                ["run", "c.yaml", "--log-level", "error"],
                folder: trial.folder,
                isTyped: true,
                pausesOutput: true
            )
            let link = "myapp://nowhere/" + String(repeating: "x", count: 60_000) + "\n"
            // Each chunk produces one line of output, so that output never pauses for long on a busy machine.
            let chunk = Array((String(repeating: link, count: 10) + "myapp://product/1\n").utf8)
            command.write { number in number < 50 ? chunk : nil }
            #expect(await command.output.countLines(50) == 50)
            let peak = try #require(command.peakMemory)
            #expect(peak < CommandProcess.memoryLimit, "VmHWM \(peak) KiB")
            try command.closeInput()
            await command.ends(with: CommandStatus.deadLettersLost.rawValue)
        }
    }
}
