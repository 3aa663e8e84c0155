import ArgumentParser
import BrokerKit
import Foundation
import Testing
import WebSocketChat

@testable import SignalboxCommand

/// `signalbox serve --listen`, without a configuration.
@Suite(.timeLimit(.minutes(10))) struct ListenLiveTests {
    /// Serves on a free port while `body` works. The body ends the server.
    private static func serve(
        _ arguments: String...,
        isTyped: Bool = false,
        _ body: (_ server: CommandProcess, _ url: String) async throws -> Void
    ) async throws {
        let server = try CommandProcess(["serve", "--listen", "0"] + arguments, isTyped: isTyped)
        try await body(server, try await ChatTrial.listening(server))
    }

    private static func connect(_ url: String, _ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(["connect", url, "--no-input", "--timeout", "100s"] + arguments)
    }

    @Test func echoReturnsEveryMessageUnchanged() async throws {
        try await Self.serve("--echo", "--raw") { server, url in
            let text = try await Self.connect(url, "--body", "{ not JSON", "--body", "", "--count", "2", "--raw")
            #expect(text.output == ["{ not JSON", ""] && text.status == 0)
            let binary = try await Self.connect(url, "--base64", "--body", "AP8=", "--count", "1")
            #expect(binary.output == ["AP8="])
            #expect(await server.output.line(with: "{ not JSON") != nil)
            let large = String(repeating: "a", count: 100_000)
            #expect(try await Self.connect(url, "--body", large, "--count", "1", "--raw").output == [large])
            server.signal(SIGTERM)
            await server.ends()
        }
    }

    @Test func broadcastSendsToTheOtherClients() async throws {
        try await Self.serve("--broadcast") { server, url in
            let first = try CommandProcess(["connect", url, "--raw"], isTyped: true)
            try first.type("first is here")
            #expect(await server.output.line(with: "first is here") != nil)
            let second = try CommandProcess(["connect", url, "--raw"], isTyped: true)
            try second.type("one")
            #expect(await first.output.line() == "one")
            try first.type("two")
            // The sender of "one" has not received it.
            #expect(await second.output.line() == "two")
            for client in [first, second] {
                client.signal(SIGTERM)
                await client.ends()
            }
            server.signal(SIGTERM)
            await server.ends()
        }
    }

    @Test func messagesAreRecordsAndLinesGoToAllClients() async throws {
        try await Self.serve(isTyped: true) { server, url in
            // Nobody is connected yet, so this line waits.
            try server.type("welcome")
            let clients = try (0..<2).map { _ in try CommandProcess(["connect", url, "--raw"], isTyped: true) }
            var connections: Set<String> = []
            for client in clients {
                try client.type("[1]")
                let line = try #require(await server.output.line(with: #""payload":[1]"#))
                let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                #expect(record?["peer"] as? String == "127.0.0.1" && record?["payloadKind"] as? String == "json")
                connections.insert(try #require(record?["connection"] as? String))
            }
            #expect(connections.count == 2)
            try server.type("to all")
            for client in clients { #expect(await client.output.line(with: "to all") != nil) }
            // The end of stdin does not end the server.
            try server.closeInput()
            try clients[0].type("still here")
            #expect(await server.output.line(with: "still here") != nil)
            for client in clients {
                client.signal(SIGTERM)
                await client.ends()
            }
            server.signal(SIGINT)
            await server.ends()
        }
    }

    @Test func countAndTimeoutEndTheServer() async throws {
        try await Self.serve("--count", "2", "--raw", "--log-level", "error") { server, url in
            let client = try await Self.connect(url, "--body", "a", "--body", "b", "--body", "c")
            #expect(client.status == CommandStatus.done.rawValue || client.status == CommandStatus.timeout.rawValue)
            #expect(await server.output.rest() == ["a", "b"])
            await server.ends()
        }
        let silent = try await CommandProcess.run(["serve", "--listen", "0", "--timeout", "300ms"])
        #expect(silent.status == CommandStatus.timeout.rawValue)
        #expect(silent.errors.last == "signalbox: timed out after 300ms: no message received")
        let warning = try #require(silent.errors.first { $0.contains("every program on this machine can connect") })
        #expect(warning.hasSuffix("to require a token, serve a configuration (docs/configuration/chat.md)"))
    }

    @Test func pagesConnectOnlyFromAllowedOrigins() async throws {
        try await Self.serve("--echo", "--allow-origin", "https://app.example") { server, url in
            let page = try await Self.connect(url, "--origin", "https://app.example", "--body", "a", "--count", "1")
            #expect(page.status == 0)
            let other = try await Self.connect(url, "--origin", "https://evil.example")
            #expect(other.status == CommandStatus.refused.rawValue)
            server.signal(SIGTERM)
            await server.ends()
        }
    }

    @Test func aPortInUseHasItsOwnStatus() async throws {
        let taken = try QuietListener()
        let finished = try await CommandProcess.run(["serve", "--listen", "127.0.0.1:\(taken.port)"])
        #expect(finished.status == CommandStatus.cannotListen.rawValue)
        #expect(finished.errors.last?.contains("\(taken.port)") == true, "\(finished.errors)")
    }

    @Test func aLineThatCannotBeSentIsReported() async throws {
        try await Self.serve("--base64", "--count", "1", isTyped: true) { server, url in
            try server.type("not Base64")
            #expect(await server.errors.line(with: "a line was not sent: it is not Base64") != nil)
            _ = try await Self.connect(url, "--body", "a", "--linger", "0s", "--exit-after-input")
            #expect(await server.output.line() == "YQ==")
            await server.ends(with: CommandStatus.notAsExpected.rawValue)
        }
    }
}

@Suite struct ListenOptionsTests {
    @Test(
        arguments: [
            ("8080", "127.0.0.1", 8_080), ("127.0.0.1:0", "127.0.0.1", 0), ("localhost:1", "127.0.0.1", 1),
            ("[::1]:65535", "::1", 65_535), ("127.0.0.2:80", "127.0.0.2", 80),
        ] as [(String, String, UInt16)]
    )
    func loopbackAddressesAreAccepted(_ text: String, _ host: String, _ port: UInt16) throws {
        let address = try ListenAddress(text)
        #expect(address.host == host && address.port == port)
        let server = try ListenArguments.parse(["--listen", text]).configuration(at: address)
        try server.validate()
        #expect(server.origins.isEmpty && !server.answers)
    }

    @Test(arguments: [
        (["--listen", "0.0.0.0:80"], "other machines could connect without a token"),
        (["--listen", "[::]:80"], "use 127.0.0.1 or [::1], or a configuration"), (["--listen", "::1:80"], "--listen"),
        (["--listen", "app.example:80"], "the address is not numeric"), (["--listen", ":80"], "--listen"),
        (["--listen", "127.0.0.1"], "expected ADDRESS:PORT"),
        (["--listen", "127.0.0.1:65536"], "expected ADDRESS:PORT"),
        (["c.yaml", "--listen", "80"], "--listen serves without a configuration"), ([], "there is nothing to serve"),
        (["c.yaml", "--echo"], "--echo requires --listen"), (["c.yaml", "--count", "1"], "--count requires --listen"),
        (["c.yaml", "--raw"], "--raw requires --listen"),
        (["--listen", "80", "--echo", "--broadcast"], "--echo and --broadcast exclude each other"),
        (["--listen", "80", "--echo", "--no-input"], "--no-input is about stdin, which --echo does not read"),
        (["--listen", "80", "--port", "1"], "write --listen ADDRESS:PORT"),
        (["--listen", "80", "--outcomes"], "--outcomes requires a configuration"),
        (["--listen", "80", "-v"], "--verbose shows topics"),
        (["--listen", "80", "--allow-origin", "x"], "--allow-origin"),
    ])
    func wrongOptionsAreRefused(_ arguments: [String], _ text: String) {
        let error = #expect(throws: (any Error).self) { try ServeCommand.parse(arguments) }
        let message = ServeCommand.message(for: error ?? CancellationError())
        #expect(message.contains(text), "\(message)")
    }
}
