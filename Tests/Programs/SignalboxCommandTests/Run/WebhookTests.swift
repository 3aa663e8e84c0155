import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// `signalbox run` with a source of HTTP requests.
@Suite(.timeLimit(.minutes(10))) struct WebhookTests {
    /// Runs `body` with the port of the listener `web`.
    private static func with(
        _ configuration: String,
        files: [String: String] = [:],
        _ body: (_ process: CommandProcess, _ port: UInt16, _ folder: URL) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            for (name, text) in files { try ChatTrial.write(text, to: name, in: folder) }
            try ProcessTrial.copySDK(to: folder)
            try ProcessTrial.write(configuration, in: folder)
            let process = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: folder)
            let line = try #require(await process.errors.line(with: "hooks: listening on http://127.0.0.1:"))
            let digits = line.split(separator: "127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
            try await body(process, try #require(UInt16(digits)), folder)
            process.signal(SIGTERM)
            #expect(await process.status() == CommandStatus.done.rawValue)
        }
    }

    /// Sends a request and returns the whole answer.
    private static func post(_ port: UInt16, _ path: String, _ body: String, _ headers: [String] = []) async throws
        -> String
    {
        let peer = try #require(RawPeer(port: port))
        let lines = ["POST \(path) HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Connection: close"]
        let length = ["Content-Length: \(body.utf8.count)"]
        peer.write((lines + headers + length).joined(separator: "\r\n") + "\r\n\r\n" + body)
        return String(decoding: await peer.read { _ in false }, as: UTF8.self)
    }

    /// The first order with amount 7 ends the program.
    private static let program = """
        import os
        import signal
        from dataclasses import dataclass
        from signalbox import action, run, send

        @dataclass
        class Order:
            amount: int

        @action("order")
        def order(body: Order, context):
            if body.amount == 7 and not os.path.exists("died"):
                open("died", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            send("told", {"amount": body.amount})
            return {"ok": body.amount}

        run()
        """

    /// Each request goes to a program in Python, which tells a page and a broker's topic about it.
    @Test func nothingIsLostWhenThePluginIsKilled() async throws {
        try await Broker.with { broker in
            let configuration = """
                store: hooks.store
                listeners: { web: { port: 0 } }
                sources:
                  hooks: { http: { listener: web, anyone: true }, durability: journal }
                  pages: { chat: { listener: web, path: /chat, absent_origin: allowed, tags: [page], health_path: none } }
                  kitchen: { mqtt: { broker: '\(broker.url)', client_id: hooks, topics: ['in/{action}'], publishing: {} } }
                plugins:
                  - { action: order, use: process, command: [python3, ./orders.py], retry: { attempts: 9 }, from: hooks }
                  - action: told
                    use: chain
                    steps:
                      - { use: broadcast, to: pages, tag: page }
                      - { use: send, to: kitchen, topic: 'kitchen/{action}' }
                    from: internal
                timeout: 60s
                """
            let subscriber = try await BrokerTrial.subscriber(broker.url, "-t", "kitchen/#", "--count", "12")
            try await Self.with(configuration, files: ["orders.py": Self.program]) { process, port, folder in
                var page = try await WireSide.openClient(port: port)
                for number in 1...12 {
                    let answer = try await Self.post(port, "/order", #"{"amount":\#(number)}"#)
                    #expect(answer.hasPrefix("HTTP/1.1 202 Accepted\r\n"))
                }
                var told: Set<String> = []
                while told.count < 12, let frame = try await page.frame() {
                    told.insert(String(decoding: frame.payload, as: UTF8.self))
                }
                #expect(told == Set((1...12).map { #"{"action":"told","body":{"amount":\#($0)}}"# }))
                var published: Set<String> = []
                while published.count < 12, let line = await subscriber.output.line(with: "kitchen/told") {
                    published.insert(String(line.prefix { $0 != "," } + line.drop { $0 != "," }.prefix(30)))
                }
                #expect(published.count == 12)
                #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("died").path))
            }
            await subscriber.ends()
        }
    }

    private static let simple = """
        sources:
          hooks: { http: { port: 0, anyone: true, principals: { shop: { env: SHOP_TOKEN } } } }
        plugins:
          - { action: order, use: reply, value: { ok: true }, from: hooks }
          - { action: pay, use: reply, value: 1, from: { source: hooks, principal: shop } }
        """

    @Test func theStatusSaysWhatBecameOfARequest() async throws {
        let configuration = Self.simple.replacing("{ env: SHOP_TOKEN }", with: "{ file: token }")
        try await Self.with(configuration, files: ["token": "0123456789abcdef"]) { process, port, _ in
            let ordered = try await Self.post(port, "/order", "{}", ["Idempotency-Key: o-1"])
            #expect(ordered.hasPrefix("HTTP/1.1 200 OK\r\n") && ordered.hasSuffix("\r\n\r\n{\"ok\":true}"))
            let refused = try await Self.post(port, "/pay", "{}")
            #expect(refused.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && refused.contains("sourceNotAllowed"))
            let paid = try await Self.post(
                port,
                "/pay",
                "{}",
                ["Authorization: Bearer 0123456789abcdef", "Idempotency-Key: p-1"]
            )
            #expect(paid.hasSuffix("\r\n\r\n1"))
            let outcome = try #require(await process.output.line(with: "o-1"))
            #expect(outcome.contains(#""outcome":"handled""#))
            let paidOutcome = try #require(await process.output.line(with: "p-1"))
            #expect(paidOutcome.contains(#""peer":"127.0.0.1","principal":"shop""#), "\(paidOutcome)")
        }
    }

    @Test func aReloadAddsASourceToARunningListener() async throws {
        let first = """
            listeners: { web: { port: 0 } }
            sources:
              hooks: { http: { listener: web, anyone: true, routes: ['/hooks/{action}'] } }
            plugins: [ { action: order, use: reply, value: 1, from: hooks } ]
            """
        let second = """
            listeners: { web: { port: 0 } }
            sources:
              hooks: { http: { listener: web, anyone: true, routes: ['/hooks/{action}'] } }
              more: { http: { listener: web, anyone: true, routes: ['/more/{action}'] } }
              pages: { chat: { listener: web, path: /chat, absent_origin: allowed } }
            plugins: [ { action: order, use: reply, value: 1, from: [hooks, more, pages] } ]
            """
        try await Self.with(first) { process, port, folder in
            #expect(try await Self.post(port, "/more/order", "{}").hasPrefix("HTTP/1.1 404"))
            try ProcessTrial.write(second, in: folder)
            process.signal(SIGHUP)
            var found: Set<String> = []
            while found.count < 3 {
                let line = try #require(await process.errors.line(with: " "))
                for word in ["more: listening on", "pages: listening on", "configuration reloaded"]
                where line.contains(word) {
                    found.insert(word)
                }
            }
            #expect(try await Self.post(port, "/more/order", "{}").hasSuffix("\r\n\r\n1"))
            #expect(try await Self.post(port, "/hooks/order", "{}").hasSuffix("\r\n\r\n1"))
            _ = try await WireSide.openClient(port: port)
        }
    }

    // MARK: - check and explain

    @Test func checkReportsMistakes() {
        for (text, expected) in [
            ("{ port: 0 }", "no client can send"), ("{ anyone: true }", "port"),
            ("{ listener: other, anyone: true }", "there is no listener 'other'"),
            ("{ port: 0, anyone: true, routes: ['a'] }", "routes"),
            ("{ port: 0, anyone: true, addresses: [10.0.0.1/8] }", "is no address and no range"),
            ("{ port: 0, signatures: { x: { scheme: other, key: { env: K } } } }", "other"),
            ("{ listener: web, port: 1, anyone: true }", "the listener decides about 'port'"),
        ] {
            let configuration = """
                listeners: { web: { port: 0 } }
                sources: { hooks: { http: \(text) } }
                plugins: [ { action: order, use: log, from: hooks } ]
                """
            let found = #expect(throws: ConfigurationError.self) { try ConfigurationFixture.read(configuration) }
            #expect(found?.description.contains(expected) == true, "\(text): \(String(describing: found))")
        }
    }

    @Test func explainReadsARequest() async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(Self.simple, in: folder)
            let arguments = ["explain", "c.yaml", "--path", "/pay?x=1", "--body", "{}", "--principal"]
            let explained = try await CommandProcess.run(arguments + ["shop"], folder: folder)
            #expect(explained.output.joined().contains(#""action":"pay""#), "\(explained)")
            let unknown = try await CommandProcess.run(arguments + ["shob"], folder: folder)
            #expect(unknown.errors.joined().contains("there is no such principal"), "\(unknown)")
        }
    }
}
