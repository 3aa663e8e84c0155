#if os(Linux)
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: { env: TEST_BROKER }
              client_id: disk-test
              topics: [ { pattern: 'push/{action}/{id}' } ]
        plugins:
          - { action: keep, use: file, path: actions.jsonl, timeout: 5m, from: [ { source: push } ] }
        ack_deadline: 5m
        """

    /// Runs the configuration with an append log too small for all published messages, until it has returned some of
    /// them.
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
                let line = try #require(await process.errors.line(with: "plugin gave messages back"))
                #expect(line.contains("plugin=keep") && line.contains("File too large"), "\(line)")
                try await body(broker, process, folder)
            }
        }
    }

    /// A file at its size limit fails like a file on a full disk, possibly after a part was written.
    private static func limitFiles(of process: CommandProcess, to bytes: String) async throws {
        let arguments = ["--pid", "\(process.id)", "--fsize=\(bytes):"]
        try #require(try await RunningProgram("prlimit", arguments).status() == 0)
    }

    private static func numbers(in log: URL) throws -> [Int] {
        let text = try String(contentsOf: log, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require((object?["id"] as? String).flatMap { Int($0) })
        }
    }

    @Test func messagesAreRedeliveredUntilTheDiskHasRoom() async throws {
        try await FullDiskTests.withFullDisk { _, process, folder in
            let log = folder.appendingPathComponent("actions.jsonl")
            try await FullDiskTests.limitFiles(of: process, to: "unlimited")
            // The broker redelivers messages in order, so the last one arrives last.
            let last = await process.output.line(with: "\"id\":\"12\"", "\"outcome\":\"handled\"")
            try #require(last != nil)
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            // Returned messages are not lost.
            await process.ends()
            #expect(errors.last?.contains("failed 0,") == true && errors.last?.contains("dead letters 0") == true)
            #expect(try Set(FullDiskTests.numbers(in: log)) == Set(1...12))
        }
    }

    @Test func theNextProcessStoresMessagesGivenBackOnAFullDisk() async throws {
        try await FullDiskTests.withFullDisk { broker, process, folder in
            process.signal(SIGTERM)
            _ = await process.errors.rest()
            // Returned messages are not lost.
            await process.ends()
            let log = folder.appendingPathComponent("actions.jsonl")
            let kept = try Set(FullDiskTests.numbers(in: log))
            #expect(kept.count < 12)
            let next = try CommandProcess(
                ["run", "signalbox.yaml", "--outcomes"],
                environment: ["TEST_BROKER": broker.url],
                folder: folder
            )
            try #require(await next.output.line(with: "\"id\":\"12\"", "\"outcome\":\"handled\"") != nil)
            next.signal(SIGTERM)
            await next.ends()
            #expect(try Set(FullDiskTests.numbers(in: log)) == Set(1...12))
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct DescriptorTests {
    /// Files and sockets must not get the number of a closed descriptor.
    @Test(arguments: [(0, "<&-"), (1, ">&-"), (2, "2>&-")])
    func aClosedDescriptorIsReserved(number: Int, closing: String) async throws {
        try await Broker.with { broker in
            if number == 2 { try await broker.publish("x", to: "a", retain: true) }
            let process = try CommandProcess(
                ["subscribe", broker.url, "-t", "a", "--log-level", "info"],
                startedBy: ["/bin/sh", "-c", "exec \"$0\" \"$@\" \(closing)"]
            )
            let isReady =
                number == 2
                ? await process.output.line(with: "retained") : await process.errors.line(with: "subscribed to")
            #expect(isReady != nil)
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.id)/fd/\(number)")
            #expect(target == "/dev/null")
            process.signal(SIGTERM)
            _ = await process.status()
        }
    }

    /// A started program that inherits the connection could read from it and would keep it open.
    @Test func aChildProcessInheritsNoConnection() async throws {
        try await Broker.with { broker in
            try await broker.publish("1", to: "x", retain: true)
            let command = try CommandProcess(
                ["subscribe", broker.url, "--topic", "x"],
                isTyped: true,
                pausesOutput: true
            )
            #expect(await command.output.countLines(1) == 1)
            try withExtendedLifetime(command) {
                var connections: [Descriptor] = []
                // The system's table of connections may omit some while others come and go.
                while connections.isEmpty, !Task.isCancelled {
                    connections = try Self.descriptors(of: command.id, Self.connections(of: command.id))
                }
                #expect(connections.count == 1)
                #expect(connections.allSatisfy { $0.isClosedOnExec })
                // Two of the standard descriptors are pipes; the other pipes wake threads.
                let pipes = try Self.descriptors(of: command.id) { $0.hasPrefix("pipe:") }.filter { $0.number > 2 }
                #expect(!pipes.isEmpty)
                #expect(pipes.allSatisfy { $0.isClosedOnExec }, "\(pipes)")
            }
        }
    }

    private struct Descriptor {
        let number: Int
        let isClosedOnExec: Bool
    }

    /// Returns the target and the flags of each descriptor (proc(5)).
    private static func descriptors(of process: Int32, _ isWanted: (String) -> Bool) throws -> [Descriptor] {
        let folder = "/proc/\(process)"
        return try FileManager.default.contentsOfDirectory(atPath: "\(folder)/fd").compactMap { name in
            guard let number = Int(name),
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(name)"),
                isWanted(target)
            else { return nil }
            // A descriptor closed in the meantime has no file.
            guard
                let facts = try? String(contentsOfFile: "\(folder)/fdinfo/\(name)", encoding: .utf8).split(
                    separator: "\n"
                )
            else { return nil }
            let flags = try #require(facts.first { $0.hasPrefix("flags:") }?.split(separator: "\t").last)
            let value = try #require(Int32(flags, radix: 8))
            return Descriptor(number: number, isClosedOnExec: value & O_CLOEXEC != 0)
        }
    }

    /// Reads a table to its end. Foundation reads only the first 4 KiB of a file whose size is 0, as that of each table is.
    private static func text(ofTable path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            try #require(count >= 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk.prefix(count)
        }
    }

    /// Matches TCP sockets: the tenth field of each line in a connection table is a socket's number (proc(5)).
    private static func connections(of process: Int32) throws -> (String) -> Bool {
        let lines = try ["tcp", "tcp6"].flatMap { table in
            try text(ofTable: "/proc/\(process)/net/\(table)").split(separator: "\n").dropFirst()
        }
        let numbers = Set(lines.compactMap { $0.split(separator: " ").dropFirst(9).first.map(String.init) })
        return { target in
            target.hasPrefix("socket:[") && numbers.contains(String(target.dropFirst(8).dropLast()))
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct CoreFileTests {
    /// Returns the soft and the hard limit of a process's core files, in the notation of proc(5).
    private static func limits(of process: String) throws -> [Substring] {
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        return Array(line.split(separator: " ").dropFirst(4).prefix(2))
    }

    /// Whether programs started by this process may write core files. Shells count in blocks of up to 1 KiB.
    private static let mayHaveCoreFiles: Bool = {
        guard let hard = try? CoreFileTests.limits(of: "self").last else { return false }
        return Int(hard).map { $0 >= 1_024 } ?? true
    }()

    /// Raises the soft limit to the hard one, as test runners often set it to 0, and executes what follows.
    private static let raising = ["/bin/sh", "-c", "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\"", "sh"]

    private static func limits(ofCommandWith environment: [String: String]) async throws -> [Substring] {
        let command = try CommandProcess(
            ["parse", "--stdin"],
            startedBy: raising,
            environment: environment,
            isTyped: true
        )
        try command.type("https://shop.example/")
        try #require(await command.output.line() != nil)
        let limits = try limits(of: "\(command.id)")
        try command.closeInput()
        await command.ends()
        return limits
    }

    @Test(.enabled(if: mayHaveCoreFiles, "the hard limit of core files is 0"))
    func aCrashLeavesNoCoreFile() async throws {
        #expect(try await Self.limits(ofCommandWith: ["SIGNALBOX_CORE_FILES": ""]) == ["0", "0"])
    }

    @Test(.enabled(if: mayHaveCoreFiles, "the hard limit of core files is 0"))
    func theSystemsLimitAppliesIfRequested() async throws {
        let found = try await Self.limits(ofCommandWith: ["SIGNALBOX_CORE_FILES": "1"])
        let own = try Self.limits(of: "self")
        #expect(found.first != "0" && found.last == own.last, "\(found)")
    }
}

/// Without threads, descriptors or memory, Swift's runtime and the libraries wait without end or trap. The command must
/// end by itself before that.
@Suite(.timeLimit(.minutes(10))) struct ResourceLimitTests {
    private static let commands = [
        ["run", "c.yaml"], ["serve", "c.yaml"], ["check", "c.yaml"],
        ["subscribe", "mqtt://127.0.0.1:1", "-t", "a"],
        ["publish", "mqtt://127.0.0.1:1", "-t", "a", "--body", "b"],
        ["request", "mqtt://127.0.0.1:1", "-t", "a", "--body", "b"], ["connect", "ws://127.0.0.1:1/"],
        ["bridge", "page.js"], ["send", "c.yaml", "say"], ["parse", "a://b"],
        ["navigate", "c.yaml", "a://b"], ["explain", "--body", "1", "c.yaml"], ["test", "c.yaml"],
        ["graph", "c.yaml"],
    ]

    private static let configuration = """
        sources:
          chat: { chat: { port: 0 } }
        plugins:
          - { action: say, use: log, from: [ { source: chat } ] }
        """

    /// A user without other processes, as the limit of threads counts those of the whole user and not those of root.
    private static let otherUser = ["setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups"]

    private static let canRunAsOtherUser = canRun(otherUser + ["test", "-x", BuiltProgram.path("signalbox")])

    private static func canRun(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Runs each command with a limit to its end.
    private static func expectAnError(_ limit: String, as user: [String] = [], about problem: String) async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("c.yaml")
            try configuration.write(to: file, atomically: true, encoding: .utf8)
            for command in commands {
                let process = try CommandProcess(
                    command,
                    startedBy: ["/usr/bin/env"] + user + ["bash", "-c", "ulimit \(limit) && exec \"$0\" \"$@\""],
                    environment: ["SWIFT_BACKTRACE": "enable=no"],
                    folder: folder
                )
                let errors = await process.errors.rest()
                #expect(errors.count == 1 && errors[0].contains(problem), "\(command): \(errors)")
                #expect(await process.output.rest() == [])
                await process.ends(with: CommandStatus.cannotListen.rawValue)
            }
        }
    }

    @Test(.enabled(if: canRunAsOtherUser, "only root can run the program as a user without processes"))
    func withoutThreadsEveryCommandEnds() async throws {
        try await Self.expectAnError("-u 5", as: Self.otherUser, about: "the system cannot create")
    }

    @Test(arguments: ["-n 4", "-n 20"])
    func withoutDescriptorsEveryCommandEnds(_ limit: String) async throws {
        try await Self.expectAnError(limit, about: "file descriptors are left; raise the limit (ulimit -n)")
    }

    @Test func withoutMemoryEveryCommandEnds() async throws {
        try await Self.expectAnError("-v 400000", about: "raise the limit (ulimit -v)")
    }

    /// The threads may be gone when the signal comes, and it must end the program all the same.
    @Test(.enabled(if: canRunAsOtherUser, "only root can run the program as a user without processes"))
    func aSignalEndsAProgramThatGetsNoMoreThreads() async throws {
        try await Broker.with { broker in
            let process = try CommandProcess(
                ["subscribe", broker.url, "--topic", "x", "--log-level", "info"],
                startedBy: ["/usr/bin/env"] + Self.otherUser
            )
            try #require(await process.errors.line(with: "subscribed to") != nil)
            let limit = Self.otherUser + ["prlimit", "--pid", "\(process.id)", "--nproc=1"]
            try #require(Self.canRun(limit))
            process.signal(SIGTERM)
            // With its default action, the signal would end the program without a status.
            let status = await process.status()
            #expect([0, CommandStatus.terminated.rawValue].contains(status))
        }
    }
}
#endif
