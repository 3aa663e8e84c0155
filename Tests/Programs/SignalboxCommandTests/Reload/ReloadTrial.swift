import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `signalbox run` on a configuration that a test writes anew, beside a broker of its own.
struct ReloadTrial: Sendable {
    let broker: Broker
    let folder: URL
    let process: CommandProcess

    private static let file = "signalbox.yaml"

    /// Runs the configuration until the body has ended, subscribed.
    ///
    /// - Parameter pausesOutput: leaves stdout unread.
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
        let place = folder.appendingPathComponent(file)
        try text.write(to: place, atomically: true, encoding: .utf8)
    }

    /// Writes the configuration anew, sends SIGHUP, and waits for a line on stderr.
    ///
    /// - Returns: the line.
    @discardableResult
    func reload(_ text: String, until words: String) async throws -> String {
        try ReloadTrial.write(text, in: folder)
        process.signal(SIGHUP)
        return try #require(await process.errors.line(with: words))
    }

    /// The same for several lines, in whatever order they come.
    ///
    /// - Returns: the line of the first words.
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

    /// Writes the configuration anew and sends SIGHUP, and does not wait.
    func request(_ text: String) throws {
        try ReloadTrial.write(text, in: folder)
        process.signal(SIGHUP)
    }

    /// Returns when so many more arrivals have been handled.
    func untilHandled(_ count: Int = 1, _ word: String = "\"source\"") async throws {
        for _ in 0..<count {
            try #require(await process.output.line(with: "\"outcome\":\"handled\"", word) != nil)
        }
    }

    /// Asks for the end.
    ///
    /// - Returns: the status, and what stderr said since it was read last.
    func end() async -> (status: Int32, errors: [String]) {
        process.signal(SIGTERM)
        let errors = await process.errors.rest()
        return (await process.status(), errors)
    }

    /// The numbers in a ledger of actions `{"number":"N"}`, in its order.
    func numbers(in ledger: String) throws -> [Int] {
        let bytes = try Data(contentsOf: folder.appendingPathComponent(ledger))
        return try bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
            return ((object?["body"] as? [String: Any])?["number"] as? String).flatMap(Int.init)
        }
    }
}
