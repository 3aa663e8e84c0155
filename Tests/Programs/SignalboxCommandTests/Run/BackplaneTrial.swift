import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Several programs whose chats share their broadcasts through one broker.
struct BackplaneTrial {
    /// One program.
    struct Node {
        let process: CommandProcess
        let url: String
        fileprivate let folder: URL

        /// Returns a client of this program, once it is connected.
        func client() async throws -> CommandProcess {
            let client = try CommandProcess(
                ["connect", url, "--raw", "--timeout", "100s"],
                folder: folder,
                isTyped: true
            )
            try client.type(#"{"action":"hello","id":"h","body":0}"#)
            #expect(await client.output.line(with: #""id":"h""#) != nil)
            return client
        }
    }

    /// What tells that a program can receive broadcasts and clients.
    static let words = [
        "chat-backplane: subscribed to", "push: subscribed to", "publisher: connected to", "listening on ws://",
    ]

    let broker: Broker
    let nodes: [Node]

    /// - Parameters:
    ///   - chat: Further keys of the chat.
    ///   - source: Further keys of the MQTT source.
    ///   - timeout: How long a call may take. No machine is so slow that the default decides a test.
    static func configuration(
        _ broker: Broker,
        _ name: String,
        chat: String = ", backplane: push",
        source: String = "",
        timeout: String = "5m"
    ) -> String {
        """
        sources:
          push: { mqtt: { broker: '\(broker.url)', client_id: \(name), topics: ['news/{action}'], publishing: {} \(source) } }
          chat: { chat: { port: 0, absent_origin: allowed, tags: [lobby] \(chat) } }
        plugins:
          - { action: hello, use: echo, from: chat }
          - { action: say, use: broadcast, tag: lobby, from: chat }
          - { action: whisper, use: broadcast, from: chat }
          - { action: enter, use: join, from: chat }
          - { action: news, use: log, from: push }
        timeout: \(timeout)
        """
    }

    /// Runs `body` once all programs are connected.
    static func with(
        _ count: Int,
        source: String = "",
        timeout: String = "5m",
        _ body: (BackplaneTrial) async throws -> Void
    ) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                var nodes: [Node] = []
                for number in 1...count {
                    let text = configuration(broker, "node-\(number)", source: source, timeout: timeout)
                    nodes.append(try await start(text, "node-\(number).yaml", in: folder))
                }
                try await body(BackplaneTrial(broker: broker, nodes: nodes))
                for node in nodes where node.process.isRunning {
                    node.process.signal(SIGTERM)
                    await node.process.ends()
                }
            }
        }
    }

    static func start(_ text: String, _ file: String, in folder: URL, until words: [String] = words) async throws
        -> Node
    {
        try ChatTrial.write(text, to: file, in: folder)
        let process = try CommandProcess(["run", file, "--outcomes"], folder: folder)
        return try await node(process, in: folder, until: words)
    }

    /// Returns the program once it has said all of the words.
    ///
    /// - Parameter url: Where it listens, unless it says so.
    static func node(
        _ process: CommandProcess,
        in folder: URL,
        until words: [String] = words,
        url: String? = nil
    ) async throws -> Node {
        var missing = Set(words)
        var url = url
        while !missing.isEmpty {
            let line = try #require(await process.errors.line(with: " "))
            missing = missing.filter { !line.contains($0) }
            url = line.split(separator: " ").first { $0.hasPrefix("ws://") }.map(String.init) ?? url
        }
        return Node(process: process, url: try #require(url), folder: folder)
    }
}

extension CommandProcess {
    /// Returns the next lines of stdout that contain the words.
    func lines(_ count: Int, with words: String) async throws -> [String] {
        var found: [String] = []
        while found.count < count { found.append(try #require(await output.line(with: words))) }
        return found
    }
}
