#if os(Linux)
import BrokerKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: { env: TEST_BROKER }
              client_id: disk-test
              topics: [ { pattern: 'push/{action}/{id}' } ]
        plugins:
          - { action: keep, use: file, path: ledger.jsonl, timeout: 5m, from: [ { source: push } ] }
        hold_limit: 5m
        """

    /// Runs the configuration with a ledger too small for everything that is published, until it has given messages back.
    private static func withFullDisk(_ body: (Broker, CommandProcess, URL) async throws -> Void) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(
                    ["run", file.path, "--outcomes"],
                    environment: ["TEST_BROKER": broker.url],
                    folder: folder
                )
                try #require(await process.errors.line(with: "subscribed to") != nil)
                try await limitFiles(of: process, to: "1000")
                for number in 1...12 { try await broker.publish("{}", to: "push/keep/\(number)") }
                let line = try #require(await process.errors.line(with: "plugin cannot do its work now"))
                #expect(line.contains("plugin=keep") && line.contains("File too large"), "\(line)")
                try await body(broker, process, folder)
            }
        }
    }

    /// A file at its size limit fails like one on a full disk, perhaps after a part was written.
    private static func limitFiles(of process: CommandProcess, to bytes: String) async throws {
        let arguments = ["--pid", "\(process.id)", "--fsize=\(bytes):"]
        try #require(try await RunningProgram("prlimit", arguments).status() == 0)
    }

    private static func numbers(in ledger: URL) throws -> [Int] {
        let text = try String(contentsOf: ledger, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require((object?["id"] as? String).flatMap { Int($0) })
        }
    }

    @Test func whatTheDiskHasNoRoomForComesAgainAndIsKeptWhenThereIsRoom() async throws {
        try await FullDiskTests.withFullDisk { _, process, folder in
            let ledger = folder.appendingPathComponent("ledger.jsonl")
            try await FullDiskTests.limitFiles(of: process, to: "unlimited")
            // The broker redelivers messages in order, so the last one comes last.
            let last = await process.output.line(with: "\"id\":\"12\"", "\"outcome\":\"handled\"")
            try #require(last != nil)
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            // What was given back is not lost.
            await process.ends()
            #expect(errors.last?.contains("failed 0,") == true && errors.last?.contains("dead letters 0") == true)
            #expect(try Set(FullDiskTests.numbers(in: ledger)) == Set(1...12))
        }
    }

    @Test func whatItHadNoRoomForWhenTheProgramEndedComesToTheNextOne() async throws {
        try await FullDiskTests.withFullDisk { broker, process, folder in
            process.signal(SIGTERM)
            _ = await process.errors.rest()
            // What was given back is not lost.
            await process.ends()
            let ledger = folder.appendingPathComponent("ledger.jsonl")
            let kept = try Set(FullDiskTests.numbers(in: ledger))
            #expect(kept.count < 12)
            let next = try CommandProcess(
                ["run", "signalbox.yaml", "--outcomes"],
                environment: ["TEST_BROKER": broker.url],
                folder: folder
            )
            try #require(await next.output.line(with: "\"id\":\"12\"", "\"outcome\":\"handled\"") != nil)
            next.signal(SIGTERM)
            await next.ends()
            #expect(try Set(FullDiskTests.numbers(in: ledger)) == Set(1...12))
        }
    }
}
#endif
