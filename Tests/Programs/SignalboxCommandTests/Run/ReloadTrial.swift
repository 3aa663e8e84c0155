import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

/// `signalbox run` with its own broker and a configuration that a test rewrites.
struct ReloadTrial: Sendable {
    let broker: Broker
    let folder: URL
    let process: CommandProcess

    private static let file = "signalbox.yaml"

    /// Runs `body` once the configuration's source has subscribed.
    ///
    /// - Parameter pausesOutput: Whether stdout stays unread.
    static func with(
        _ configuration: (Broker) -> ReloadConfiguration,
        pausesOutput: Bool = false,
        _ body: (ReloadTrial, ReloadConfiguration) async throws -> Void
    ) async throws {
        let options = BrokerOptions(lines: ["max_inflight_messages 1000", "set_tcp_nodelay true"])
        try await Broker.with(options) { broker in
            try await TemporaryFolder.with { folder in
                let configuration = configuration(broker)
                try write(configuration.text, in: folder)
                let arguments = ["run", file, "--outcomes"]
                let process = try CommandProcess(arguments, folder: folder, pausesOutput: pausesOutput)
                try #require(await process.errors.line(with: "subscribed to") != nil)
                try await body(ReloadTrial(broker: broker, folder: folder, process: process), configuration)
            }
        }
    }

    private static func write(_ text: String, in folder: URL) throws {
        let url = folder.appendingPathComponent(file)
        try text.write(to: url, atomically: true, encoding: .utf8)
    }

    /// Rewrites the configuration, sends SIGHUP and waits for a line on stderr.
    ///
    /// - Returns: The line.
    @discardableResult
    func reload(_ text: String, until words: String) async throws -> String {
        try ReloadTrial.write(text, in: folder)
        process.signal(SIGHUP)
        return try #require(await process.errors.line(with: words))
    }

    /// Does the same for several lines, in any order.
    ///
    /// - Returns: The line with the first words.
    func reload(_ text: String, until words: String, and others: String...) async throws -> String {
        try request(text)
        var wanted = [words] + others
        var found: String?
        while !wanted.isEmpty {
            let line = try #require(await process.errors.line(with: " "))
            if line.contains(words) { found = line }
            wanted.removeAll { line.contains($0) }
        }
        return try #require(found)
    }

    /// Rewrites the configuration and sends SIGHUP without waiting.
    func request(_ text: String) throws {
        try ReloadTrial.write(text, in: folder)
        process.signal(SIGHUP)
    }

    /// Returns when `count` more arrivals have been handled.
    func untilHandled(_ count: Int = 1, _ word: String = "\"source\"") async throws {
        for _ in 0..<count {
            try #require(await process.output.line(with: "\"outcome\":\"handled\"", word) != nil)
        }
    }

    /// Stops the program.
    ///
    /// - Returns: The status, and the unread lines of stderr.
    func end() async -> (status: Int32, errors: [String]) {
        process.signal(SIGTERM)
        let errors = await process.errors.rest()
        return (await process.status(), errors)
    }

    /// Returns the numbers in an append log of actions `{"number":"N"}`, in order.
    func numbers(in log: String) throws -> [Int] {
        let bytes = try Data(contentsOf: folder.appendingPathComponent(log))
        return try bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
            return ((object?["body"] as? [String: Any])?["number"] as? String).flatMap(Int.init)
        }
    }
}

/// A configuration of which a test changes one part at a time.
struct ReloadConfiguration: Sendable {
    let broker: String
    var topics = ["{ pattern: 'push/{device}/{action}' }"]
    /// The keys of the source other than `mqtt`.
    var source = ""
    /// Further sources, each a line with its indentation.
    var sources: [String] = []
    /// The keys of the plugin `log` other than its action, path and rule.
    var options = "timeout: 30s"
    var rule = "{ source: push }"
    /// Further plugins.
    var plugins: [String] = []
    /// Further lines.
    var rest: [String] = []

    var text: String {
        var lines = ["sources:", "  push:", "    mqtt:", "      broker: \(broker)", "      client_id: reload-test"]
        lines.append("      topics: [ \(topics.joined(separator: ", ")) ]")
        if !source.isEmpty { lines.append("    \(source)") }
        lines += sources + ["plugins:"]
        lines.append("  - { action: log, use: file, path: handled.jsonl, from: [ \(rule) ], \(options) }")
        return (lines + plugins.map { "  - { \($0) }" } + rest).joined(separator: "\n") + "\n"
    }

    func with(_ change: (inout ReloadConfiguration) -> Void) -> ReloadConfiguration {
        var changed = self
        change(&changed)
        return changed
    }
}

/// Publishes numbered messages to `push/numbers/log` continuously, in order, with QoS 1.
final class NumberPublisher: Sendable {
    private let trial: ReloadTrial
    private let isDone = Atomic(false)
    private static let atOnce = 400

    init(_ trial: ReloadTrial) {
        self.trial = trial
    }

    /// Publishes until ``stop()``, or until the task is cancelled, for example by a failed test.
    ///
    /// - Returns: The number of messages that the broker has acknowledged: those from 1 on.
    func run() async throws -> Int {
        var next = 1
        while !isDone.load(ordering: .relaxed), !Task.isCancelled {
            let program = try RunningProgram(
                BuiltProgram.path("RecordingPublisher"),
                [
                    "--port", "\(trial.broker.port)", "--topic", "push/numbers/log", "--in-flight", "20",
                    "--payload", #"{"number":"{n}"}"#, "--first", "\(next)", "--count", "\(NumberPublisher.atOnce)",
                    "--log", trial.folder.appendingPathComponent("sent-\(next).txt").path,
                ]
            )
            try #require(await program.status() == 0)
            next += NumberPublisher.atOnce
        }
        return next - 1
    }

    func stop() {
        isDone.store(true, ordering: .relaxed)
    }
}
