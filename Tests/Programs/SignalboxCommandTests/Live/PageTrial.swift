import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Runs `signalbox bridge` and `run` in a folder with a configuration and scripts.
struct PageTrial {
    static let configuration = """
        sources:
          page: { script: { execution_time_limit: 300ms, title: Trial }, window: { arrivals: 4 } }
          push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } }
        plugins:
          - { action: pay, use: reply, value: { receipt: r-1 }, from: [ { source: page } ] }
          - { action: show, use: print, from: [ { source: page } ] }
          - { action: closed, use: log, from: [ { source: push } ] }
          - { action: broken, use: fail, from: [ { source: page } ] }
          - { action: hang, use: suspend, timeout: 200ms, from: [ { source: page } ] }
        drain_limit: 100ms
        """

    let folder: URL

    static func with(_ configuration: String = configuration, _ body: (PageTrial) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let trial = PageTrial(folder: folder)
            try trial.write(configuration, to: "c.yaml")
            try await body(trial)
        }
    }

    func write(_ text: String, to file: String) throws {
        try text.write(to: folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
    }

    /// Runs one script with the configuration to its end.
    func bridge(_ script: String, _ arguments: String...) async throws -> CommandProcess.Finished {
        try write(script, to: "page.js")
        return try await run(["bridge", "page.js", "--config", "c.yaml"] + arguments)
    }

    func run(_ arguments: [String]) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(arguments, folder: folder)
    }

    func start(_ arguments: [String]) throws -> CommandProcess {
        try CommandProcess(arguments, folder: folder)
    }
}
