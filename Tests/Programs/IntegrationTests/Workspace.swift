import BrokerKit
import Foundation

/// A test's own folder for configurations and logs, and a real broker.
struct Workspace: Sendable {
    let broker: Broker
    let folder: URL

    static func with(_ options: BrokerOptions = BrokerOptions(), _ body: (Workspace) async throws -> Void) async throws
    {
        try await Broker.with(options) { broker in
            let folder = broker.folder.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await body(Workspace(broker: broker, folder: folder))
        }
    }

    /// Writes a configuration with two sources on the broker: `push` with the topics `push/{device}/{action}`, and
    /// `urgent`. Its time limits suit a busy disk, unless a plugin overrides them.
    func configuration(_ name: String, more: String = "", plugins: String) throws -> URL {
        let file = folder.appendingPathComponent("\(name).yaml")
        let text = """
            sources:
              push:
                mqtt:
                  broker: \(broker.url)
                  client_id: push-test
                  topics: [ { pattern: "push/{device}/{action}" } ]
              urgent:
                mqtt:
                  broker: \(broker.url)
                  client_id: urgent-test
                  topics: [ { pattern: "urgent/{action}" } ]
            timeout: 300s
            ack_deadline: 3600s
            plugins:
            \(plugins)
            \(more)
            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    func plugin(_ action: String, use: String, source: String = "push", more: String = "") -> String {
        "  - { action: \(action), use: \(use), from: [ { source: \(source) } ]\(more.isEmpty ? "" : ", \(more)") }"
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func lines(of name: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: file(name).path) else { return [] }
        return try String(contentsOf: file(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

extension Workspace {
    /// Starts `signalbox run` on a configuration. Returns when both sources have subscribed, as earlier messages would be
    /// lost.
    func run(_ configuration: URL, outcomes: Bool = true) async throws -> CommandProcess {
        let run = try CommandProcess(["run", configuration.path] + (outcomes ? ["--outcomes"] : []))
        for source in ["push", "urgent"] {
            try await run.errors.untilLine(containing: " \(source): subscribed to")
        }
        return run
    }

    /// Starts a publisher of numbered messages, which writes those that the broker has acknowledged to `sent-FIRST.txt`.
    ///
    /// - Parameters:
    ///   - payload: The payload, in which `{n}` stands for the message's number.
    ///   - port: The port to connect to, or `nil` for the broker's.
    func publisher(
        to topic: String,
        payload: String = #"{"n":{n}}"#,
        first: Int,
        count: Int,
        port: Int? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            BuiltProgram.path("RecordingPublisher"),
            [
                "--port", "\(port ?? broker.port)", "--topic", topic, "--payload", payload, "--first", "\(first)",
                "--count", "\(count)", "--log", file("sent-\(first).txt").path,
            ]
        )
    }
}

extension CommandProcess {
    /// Starts a CrashWorker.
    static func worker(_ arguments: [String]) throws -> CommandProcess {
        try CommandProcess(arguments, of: "CrashWorker", isTyped: true)
    }

    /// Starts a CrashWorker and returns when it has subscribed.
    static func subscribedWorker(_ arguments: [String]) async throws -> CommandProcess {
        let worker = try worker(arguments)
        try await worker.errors.untilLine(containing: "subscribed to")
        return worker
    }

    /// Lets the worker's plugin continue from where it holds.
    func resume() throws {
        try type("go on")
    }

    /// Makes the worker unsubscribe from its filter, and returns when the broker has confirmed that.
    func leave() async throws {
        try type("leave")
        try await output.untilLine(containing: "left")
    }

    /// Waits until everything that the program wrote is among the lines.
    func untilRead() async {
        await output.untilEnded()
        await errors.untilEnded()
    }
}
