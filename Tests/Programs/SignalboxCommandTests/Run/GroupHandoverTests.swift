import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

/// Workers of a group that hand over by `signalbox drain --leave-groups`.
@Suite(.timeLimit(.minutes(10))) struct GroupHandoverTests {
    @Test(arguments: ["5", "3.1.1"]) func theOtherWorkerGetsEverythingUnderLoad(version: String) async throws {
        try await Group.with(version: version) { group in
            let staying = try await group.start("staying")
            let leaving = try await group.start("leaving")
            let load = Load(on: group.broker)
            async let published = load.run()
            try await leaving.untilHandled(100)
            let drained = try await leaving.drain()
            #expect(drained.status == 0, "\(drained)")
            #expect(drained.output.first?.contains(#""groups":[{"source":"push","state":"left"}]"#) == true)
            #expect(await leaving.process.status() == 0)
            let count = try staying.handled.count
            try await staying.untilHandled(count + 100)
            load.stop()
            let numbers = try await 1...published
            try await group.expectEmptySession(of: "leaving")
            try await staying.untilHandled(numbers.count - leaving.handled.count)
            await staying.end()
            // Each message once, in one of the ledgers.
            let handled = try (leaving.handled + staying.handled).sorted()
            #expect(handled == Array(numbers))
        }
    }

    /// A worker is drained and started again, and then the other one.
    @Test func rollingHandoversLoseAndRepeatNothing() async throws {
        try await Group.with { group in
            var workers = [try await group.start("a"), try await group.start("b")]
            let load = Load(on: group.broker)
            async let published = load.run()
            for round in 0..<GroupHandoverTests.rounds {
                let index = round % 2
                let handled = try workers[index].handled.count
                try await workers[index].untilHandled(handled + 20)
                let drained = try await workers[index].drain()
                #expect(drained.status == 0, "\(drained)")
                #expect(await workers[index].process.status() == 0)
                workers[index] = try await group.start(workers[index].name)
            }
            load.stop()
            let numbers = try await 1...published
            while try workers.reduce(0, { $0 + (try $1.handled.count) }) < numbers.count {
                try await Task.sleep(for: .milliseconds(20))
            }
            for worker in workers { await worker.end() }
            #expect(try workers.flatMap { try $0.handled }.sorted() == Array(numbers))
        }
    }

    /// The number of handovers, which the environment can raise.
    private static let rounds = ProcessInfo.processInfo.environment["SIGNALBOX_HANDOVERS"].flatMap(Int.init) ?? 5

    @Test func otherSubscriptionsStay() async throws {
        try await Group.with { group in
            let more = """
                  own:
                    mqtt: { broker: \(group.broker.url), client_id: own, topics: ["own/{action}"] }
                """
            let worker = try await group.start("worker", sources: more)
            #expect(try await worker.drain().status == 0)
            try await group.broker.publish("{\"number\":\"1\"}", to: "own/log")
            try await group.broker.publish("{\"number\":\"2\"}", to: "jobs/log")
            // Only the message of the own subscription waits.
            let again = try await group.start("worker", sources: more)
            try await again.untilHandled(1)
            try await group.broker.publish("{\"number\":\"3\"}", to: "jobs/log")
            try await again.untilHandled(2)
            await again.end()
            #expect(try again.handled == [1, 3])
        }
    }

    /// A plain drain, like SIGTERM, is no reason to give a subscription back: the worker may be the only one.
    @Test(arguments: [true, false]) func aPlainDrainKeepsTheSubscription(isSignal: Bool) async throws {
        try await Group.with { group in
            let worker = try await group.start("worker")
            if isSignal {
                await worker.end()
            } else {
                let drained = try await worker.run("drain", "--config", "c.yaml")
                #expect(drained.status == 0 && drained.output.first?.contains("groups") == false)
            }
            try await group.broker.publish("{\"number\":\"1\"}", to: "jobs/log")
            let again = try await group.start("worker")
            try await again.untilHandled(1)
            await again.end()
        }
    }

    @Test func aBrokerThatIsAwayEndsTheDrainWithinItsLimit() async throws {
        try await Group.with { group in
            let worker = try await group.start("worker", more: "drain_limit: 100ms")
            await group.broker.stop()
            _ = try #require(await worker.process.errors.line(with: "retrying in"))
            let drained = try await worker.drain()
            #expect(drained.status == CommandStatus.drainIncomplete.rawValue)
            #expect(
                drained.output.first?.contains(#""groups":[{"source":"push","state":"subscribed","problem":"#) == true,
                "\(drained)"
            )
            let line = try #require(await worker.process.errors.line(with: "did not leave the groups"))
            #expect(line.contains("source=push") && line.contains("reason="))
            let command = """
                signalbox subscribe '\(group.broker.url)' --id 'worker' --unsubscribe -t '$share/g/jobs/+' \
                --session-expiry 1h
                """
            #expect(line.contains(command), "\(line)")
            #expect(await worker.process.status() == 0)
        }
    }

    /// While a source leaves its groups, a reload could start another one that subscribes again.
    @Test func aReloadDuringTheHandoverIsIgnoredAndASignalEndsIt() async throws {
        try await Group.with { group in
            let worker = try await group.start("worker", more: "drain_limit: 1h")
            await group.broker.stop()
            _ = try #require(await worker.process.errors.line(with: "retrying in"))
            async let drained = worker.drain()
            _ = try #require(await worker.process.errors.line(with: "a command asked for the end"))
            var lines: [String] = []
            while lines.isEmpty {
                let reload = try await worker.run("reload", "--config", "c.yaml")
                // The first may come before the handover.
                lines = reload.errors.filter { $0.contains("the program is ending") }
            }
            worker.process.signal(SIGTERM)
            #expect(try await drained.output.first?.contains(#""state":"subscribed""#) == true)
            await worker.process.ends()
        }
    }
}

/// The workers of one group, with their broker.
private struct Group: Sendable {
    let broker: Broker
    let folder: URL
    let version: String

    static func with(version: String = "5", _ body: (Group) async throws -> Void) async throws {
        try await Broker.with(BrokerOptions(lines: ["set_tcp_nodelay true"])) { broker in
            try await TemporaryFolder.with { try await body(Group(broker: broker, folder: $0, version: version)) }
        }
    }

    /// Starts a worker, and returns when all its sources have subscribed. Its ledger outlives its restarts.
    func start(_ name: String, sources: String = "", more: String = "drain_limit: 10m") async throws -> Worker {
        let folder = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let names = sources.isEmpty ? "push" : "push, own"
        try ProcessTrial.write(
            """
            control: c.control
            sources:
              push:
                mqtt:
                  broker: \(broker.url)
                  version: "\(version)"
                  client_id: \(name)
                  topics: ["$share/g/jobs/{action}"]
            \(sources)
            plugins:
              - { action: log, use: file, path: ledger.jsonl, from: [\(names)] }
            \(more)
            """,
            in: folder
        )
        let process = try CommandProcess(["run", "c.yaml", "--log-level", "debug"], folder: folder)
        for source in names.split(separator: ", ") {
            try await process.errors.untilLine(containing: "\(source): subscribed to")
        }
        try await process.errors.untilLine(containing: "the control socket is open")
        return Worker(name: name, folder: folder, process: process)
    }

    /// Checks that no message waits in a worker's session. A message to another topic would arrive behind it.
    func expectEmptySession(of name: String) async throws {
        let options = version == "5" ? [] : ["--v311"]
        let subscribe = ["subscribe", broker.url, "--id", name, "--keep-session", "-t", "last", "-v"] + options
        let process = try CommandProcess(subscribe + ["--count", "1", "--log-level", "info"])
        #expect(await process.errors.line(with: "session resumed") != nil)
        try await broker.publish("{}", to: "last")
        #expect(await process.output.rest() == ["last {}"])
    }
}

/// A running worker.
private struct Worker: Sendable {
    let name: String
    let folder: URL
    let process: CommandProcess

    /// The numbers in the ledger.
    var handled: [Int] {
        get throws {
            let file = folder.appendingPathComponent("ledger.jsonl")
            guard FileManager.default.fileExists(atPath: file.path) else { return [] }
            // A line may not have been written to its end yet.
            return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).compactMap { line in
                let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any]
                return ((object?["body"] as? [String: Any])?["number"] as? String).flatMap(Int.init)
            }
        }
    }

    func untilHandled(_ count: Int) async throws {
        while try handled.count < count { try await Task.sleep(for: .milliseconds(20)) }
    }

    func run(_ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(arguments, folder: folder)
    }

    func drain() async throws -> CommandProcess.Finished {
        try await run("drain", "--leave-groups", "--config", "c.yaml")
    }

    func end() async {
        process.signal(SIGTERM)
        #expect(await process.status() == 0)
    }
}

/// Numbered messages, as fast as the broker takes them.
private final class Load: Sendable {
    private let broker: Broker
    private let isStopped = Atomic(false)

    init(on broker: Broker) { self.broker = broker }

    /// Publishes until ``stop()``.
    ///
    /// - Returns: The last number.
    func run() async throws -> Int {
        var last = 0
        while !isStopped.load(ordering: .relaxed), !Task.isCancelled {
            let lines = (last + 1...last + 50).map { "{\"number\":\"\($0)\"}" }
            try await broker.publish(lines: lines, to: "jobs/log")
            last += 50
        }
        return last
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
