import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

/// Runs `signalbox` in a folder with a store of dead letters and a configuration of links.
struct StoreTrial {
    static let configuration = """
        store: { path: messages.db, history: {} }
        sources:
          links:
            links: { routes: [ { pattern: 'app://pay/{n}', action: pay } ], standard_input: true }
            durability: journal
        plugins:
          - { action: pay, use: print, from: links }
          - { action: refuse, use: fail, from: links }
          - { action: hang, use: suspend, timeout: 1h, from: links }
        drain_limit: 100ms
        """

    let folder: URL
    let administration: StoreAdministration

    /// - Parameter letters: The dead letters, which have the numbers 1, 2 and so on.
    static func with(
        _ letters: [DeadLetterEntry] = [],
        _ body: (StoreTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("messages.db").path
            try Store(path: path).close()
            let administration = try StoreAdministration(path: path)
            try administration.add(letters)
            let trial = StoreTrial(folder: folder, administration: administration)
            try configuration.write(to: trial.file("signalbox.yaml"), atomically: true, encoding: .utf8)
            try await body(trial)
        }
    }

    /// A dead letter of a link.
    ///
    /// - Parameter seconds: When it failed, in seconds since 1970.
    static func letter(
        _ link: String = "app://pay/1",
        action: ActionName? = "pay",
        source: SourceName = "links",
        reason: String = "threw",
        seconds: Int64 = 1_700_000_000,
        original: Bytes? = nil
    ) -> DeadLetterEntry {
        let time = WallTime(seconds: seconds, nanoseconds: 123_456_789)
        let message = StoredMessage(
            source: source,
            factsKind: "link",
            facts: Bytes(#"{"scheme":"app"}"#),
            action: action,
            id: ActionID("a-1"),
            hasSenderID: false,
            envelope: .address,
            payload: .json,
            receivedAt: time,
            expiresAt: nil,
            original: original ?? Bytes(link)
        )
        let letter = StoredDeadLetter(
            message: message,
            outcome: "failed",
            reason: reason,
            detail: "the plugin 'fail' always fails",
            path: nil,
            explanation: Bytes(#"[{"detail":"address","passes":true,"stage":"envelope"}]"#),
            attempts: 1,
            plugin: action
        )
        return DeadLetterEntry(number: 0, letter: letter, failures: 1, firstAt: time, lastAt: time)
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func run(_ arguments: String..., input: String? = nil) async throws -> CommandProcess.Finished {
        let stdin = file("stdin")
        if let input { try input.write(to: stdin, atomically: true, encoding: .utf8) }
        return try await CommandProcess.run(arguments, folder: folder, input: input == nil ? nil : stdin)
    }

    /// Calls `body` while `signalbox run` uses the store, and then expects the program's end.
    func whileRunning(
        _ options: String...,
        body: (CommandProcess) async throws -> Void
    ) async throws {
        let process = try CommandProcess(["run", "signalbox.yaml"] + options, folder: folder, isTyped: true)
        // The program answers a link once it runs.
        try process.type("app://pay/0\n")
        try #require(await process.output.line(with: "\"action\":\"pay\"") != nil)
        try await body(process)
        process.signal(SIGTERM)
        await process.ends()
    }

    /// The numbers of the letters in the store, in the order of their last failure.
    func numbers() throws -> [Int64] { try administration.numbers(DeadLetterFilter()) }
}
