import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// How a connection ended shows in the status, and why in one line.
@Suite(.timeLimit(.minutes(10))) struct ConnectStatusTests {
    private static func connect(_ url: String, _ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(
            ["connect", url] + arguments + (arguments.contains("--timeout") ? [] : ["--timeout", "100s"])
        )
    }

    /// Expects the status, nothing on stdout, and one line on stderr with these words.
    private static func expect(_ finished: CommandProcess.Finished, _ status: CommandStatus, _ words: String) {
        #expect(finished.status == status.rawValue, "\(finished.errors)")
        #expect(finished.errors.count == 1 && finished.errors[0].contains(words), "\(finished.errors)")
        #expect(finished.errors.allSatisfy { $0.hasPrefix("signalbox: ") })
    }

    @Test func nobodyListens() async throws {
        let port = try await Broker.with { $0.port }
        Self.expect(try await Self.connect("ws://127.0.0.1:\(port)/"), .unavailable, "cannot be reached")
    }

    @Test func aHostThatDoesNotExist() async throws {
        let finished = try await CommandProcess.run(
            ["connect", "ws://nowhere.invalid/", "--timeout", "100s"],
            // A name server that says nothing is given up long before the connection is.
            environment: ["RES_OPTIONS": "timeout:1 attempts:1"]
        )
        Self.expect(finished, .unavailable, "cannot be resolved")
    }

    @Test(arguments: [
        ("HTTP/1.1 302 Found\r\nLocation: ws://x/\r\nContent-Length: 0\r\n\r\n", CommandStatus.refused, "status 302"),
        ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", .refused, "status 503"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", .refused, "status 200"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", .protocolBroken,
            "no answer that"
        ),
    ])
    func anAnswerThatIsNoUpgrade(_ answer: String, _ status: CommandStatus, _ words: String) async throws {
        let server = try AnsweringPort(answer)
        Self.expect(try await Self.connect("ws://127.0.0.1:\(server.port)/?token=canary-4711"), status, words)
    }

    @Test func aServerThatSaysNothing() async throws {
        let server = try QuietListener()
        let finished = try await Self.connect("ws://127.0.0.1:\(server.port)/", "--timeout", "300ms")
        Self.expect(finished, .timeout, "0 of 1 messages came in time")
    }

    @Test func aRefusalSaysWhich() async throws {
        try await ChatTrial.with { trial in
            let page = try await Self.connect("\(trial.url)nowhere")
            Self.expect(page, .refused, "status 404. Check the path")
            let foreign = try await Self.connect(trial.url, "--origin", "https://evil.example")
            Self.expect(foreign, .refused, "status 403")
        }
    }

    @Test func aServerThatClosesWithAnErrorCode() async throws {
        try await ChatTrial.with { trial in
            let binary = try await trial.connect("a", "--binary")
            Self.expect(binary, .closedWithError, "1003")
            let large = try await trial.connect(String(repeating: "a", count: 2 << 20))
            Self.expect(large, .closedWithError, "1009")
        }
    }

    /// What a server sends after it has opened the connection, the status, and a part of what is told.
    private static let ends: [(frames: [UInt8], status: CommandStatus, words: String?)] = [
        ([0x88, 0x02, 0x03, 0xE8], .done, nil), ([0x88, 0x02, 0x03, 0xE9], .done, nil), ([0x88, 0x00], .done, nil),
        ([0x88, 0x05, 0x0F, 0xA1] + Array("bye".utf8), .closedWithError, "4001 \"bye\""),
        ([0x81, 0x02, 0xFF, 0xFE], .protocolBroken, "forbids"), ([], .unavailable, "was lost"),
    ]

    @Test(arguments: ends.indices) func theLastFrameDecides(_ number: Int) async throws {
        let (frames, status, words) = Self.ends[number]
        try await ChatTrial.with { trial in
            let server = try #require(URL(string: trial.url)?.port)
            let forged = try AnsweringPort(afterUpgradeBy: server, frames: frames)
            let finished = try await Self.connect("ws://127.0.0.1:\(forged.port)/")
            guard let words else {
                #expect(finished.status == status.rawValue && finished.errors.isEmpty, "\(finished.errors)")
                return
            }
            Self.expect(finished, status, words)
        }
    }

    @Test func aServerThatStopsClosesInOrder() async throws {
        try await TemporaryFolder.with { folder in
            var clients: [CommandProcess] = []
            try await ChatTrial.with(ChatTrial.open, in: folder) { trial in
                for arguments in [["--count", "9"], []] {
                    let client = try CommandProcess(["connect", trial.url] + arguments, isTyped: true)
                    try client.type(#"{"action":"echo","id":"1"}"#)
                    #expect(await client.output.line(with: "handled") != nil)
                    clients.append(client)
                }
            }
            await clients[0].ends(with: CommandStatus.notAsExpected.rawValue)
            #expect(await clients[0].errors.rest() == ["signalbox: 1 of 9 messages came before the server closed"])
            await clients[1].ends()
            #expect(await clients[1].errors.rest() == [])
        }
    }

    @Test func tooFewMessagesInTime() async throws {
        try await ChatTrial.with { trial in
            let message = #"{"action":"echo","id":"1"}"#
            let few = try await GrowingTime.run {
                try await trial.connect(message, "--count", "2", "--timeout", $0)
            } until: {
                !$0.output.isEmpty
            }
            #expect(few.output.count == 1)
            Self.expect(few, .timeout, "1 of 2 messages came in time")
            let one = try await GrowingTime.run {
                try await trial.connect(message, "--timeout", $0)
            } until: {
                $0.status == 0
            }
            #expect(one.status == 0 && one.output.count == 1 && one.errors.isEmpty, "\(one.errors)")
        }
    }

    @Test(arguments: [(SIGINT, CommandStatus.interrupted), (SIGTERM, .terminated)])
    func aSignalBeforeEnoughMessages(_ signal: (Int32, CommandStatus)) async throws {
        try await ChatTrial.with { trial in
            let client = try trial.start("--count", "2")
            try client.type(#"{"action":"echo","id":"1"}"#)
            #expect(await client.output.line(with: "handled") != nil)
            client.signal(signal.0)
            await client.ends(with: signal.1.rawValue)
        }
    }

    @Test func certificatesAreChecked() async throws {
        try await TemporaryFolder.with { folder in
            try await TestCertificates.make(in: folder)
            let keys = "absent_origin: allowed, identity: { certificate: server.pem, key: server.key }"
            try await ChatTrial.with(ChatTrial.configuration(keys), scheme: "wss", in: folder) { trial in
                let named = trial.url.replacing("127.0.0.1", with: "localhost")
                let ca = folder.appendingPathComponent("ca.pem").path
                let message = ["--count", "1", "--message", #"{"action":"echo","id":"1"}"#]
                func run(_ url: String, _ arguments: [String]) async throws -> CommandProcess.Finished {
                    try await CommandProcess.run(
                        ["connect", url] + arguments + (arguments.contains("--timeout") ? [] : ["--timeout", "100s"])
                    )
                }
                Self.expect(try await run(named, []), .notSecured, "cannot be secured")
                Self.expect(try await run(trial.url, ["--ca", ca]), .notSecured, "cannot be secured")
                let trusted = try await run(named, message + ["--ca", ca])
                #expect(trusted.status == 0 && trusted.errors.isEmpty, "\(trusted.errors)")
                let careless = try await run(trial.url, message + ["--insecure"])
                #expect(careless.status == 0 && careless.output.count == 1)
                #expect(careless.errors.first?.contains("--insecure: no certificate is checked") == true)
                Self.expect(
                    try await run(trial.url.replacing("wss:", with: "ws:"), []),
                    .protocolBroken,
                    "no answer that"
                )
            }
        }
    }
}
