import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The status shows how a connection ended, and one line shows why.
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

    @Test func aClosedPortIsUnavailable() async throws {
        let port = try await Broker.with { $0.port }
        let words = "cannot reach ws://127.0.0.1:\(port): connection refused; does a server listen there?"
        Self.expect(try await Self.connect("ws://127.0.0.1:\(port)/"), .unavailable, words)
    }

    @Test func anUnknownHostIsUnavailable() async throws {
        let finished = try await CommandProcess.run(
            ["connect", "ws://nowhere.invalid/", "--timeout", "100s"],
            // The lookup gives up on a silent name server long before the connection times out.
            environment: ["RES_OPTIONS": "timeout:1 attempts:1"]
        )
        Self.expect(finished, .unavailable, "cannot resolve")
    }

    @Test(arguments: [
        ("HTTP/1.1 302 Found\r\nLocation: ws://x/\r\nContent-Length: 0\r\n\r\n", CommandStatus.refused, "status 302"),
        ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", .refused, "401. Add a bearer token (--bearer-env"),
        ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", .refused, "status 503"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", .refused, "status 200"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", .protocolBroken,
            "did not accept the WebSocket upgrade"
        ),
    ])
    func anAnswerWithoutAnUpgradeHasItsStatus(_ answer: String, _ status: CommandStatus, _ words: String) async throws {
        let server = try AnsweringPort(answer)
        Self.expect(try await Self.connect("ws://127.0.0.1:\(server.port)/?token=canary-4711"), status, words)
    }

    @Test func aSilentServerIsATimeout() async throws {
        let server = try QuietListener()
        let finished = try await Self.connect("ws://127.0.0.1:\(server.port)/", "--timeout", "300ms")
        Self.expect(finished, .timeout, "timed out after 300ms: no message received")
    }

    @Test func aRefusalIsReportedWithItsHTTPStatus() async throws {
        try await ChatTrial.with { trial in
            let page = try await Self.connect("\(trial.url)nowhere")
            Self.expect(page, .refused, "status 404. Check the path")
            let foreign = try await Self.connect(trial.url, "--origin", "https://evil.example")
            let advice = "status 403. Check the origin (--origin), and whether the server requires a token or a login"
            Self.expect(foreign, .refused, advice)
        }
    }

    @Test func anErrorCloseCodeHasItsOwnStatus() async throws {
        try await ChatTrial.with { trial in
            let binary = try await trial.connect("a", "--binary", "--linger", "never")
            Self.expect(binary, .closedWithError, "1003")
            let large = try await trial.connect(String(repeating: "a", count: 2 << 20), "--linger", "never")
            Self.expect(large, .closedWithError, "1009")
        }
    }

    /// The bytes that a server sends after the upgrade, the expected status, and a part of the expected message.
    private static let ends: [(frames: [UInt8], status: CommandStatus, words: String?)] = [
        ([0x88, 0x02, 0x03, 0xE8], .done, nil), ([0x88, 0x02, 0x03, 0xE9], .done, nil), ([0x88, 0x00], .done, nil),
        ([0x88, 0x05, 0x0F, 0xA1] + Array("bye".utf8), .closedWithError, "4001 \"bye\""),
        ([0x81, 0x02, 0xFF, 0xFE], .protocolBroken, "violated RFC 6455"), ([], .unavailable, " lost"),
    ]

    @Test(arguments: ends.indices) func theLastFrameDeterminesTheStatus(_ number: Int) async throws {
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

    @Test func aStoppedServerFailsOnlyAnUnmetCount() async throws {
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
            #expect(
                await clients[0].errors.rest() == [
                    "signalbox: the server closed the connection: 1 of 9 messages received"
                ]
            )
            await clients[1].ends()
            #expect(await clients[1].errors.rest() == [])
        }
    }

    @Test func tooFewMessagesInTimeAreATimeout() async throws {
        try await ChatTrial.with { trial in
            let message = #"{"action":"echo","id":"1"}"#
            let few = try await GrowingTime.run {
                try await trial.connect(message, "--count", "2", "--timeout", $0)
            } until: {
                !$0.output.isEmpty
            }
            #expect(few.output.count == 1)
            Self.expect(few, .timeout, ": 1 of 2 messages received")
            let one = try await GrowingTime.run {
                try await trial.connect(message, "--timeout", $0)
            } until: {
                $0.status == 0
            }
            #expect(one.status == 0 && one.output.count == 1 && one.errors.isEmpty, "\(one.errors)")
        }
    }

    @Test(arguments: [(SIGINT, CommandStatus.interrupted), (SIGTERM, .terminated)])
    func aSignalBeforeEnoughMessagesHasItsOwnStatus(_ signal: (Int32, CommandStatus)) async throws {
        try await ChatTrial.with { trial in
            let client = try trial.start("--count", "2")
            try client.type(#"{"action":"echo","id":"1"}"#)
            #expect(await client.output.line(with: "handled") != nil)
            client.signal(signal.0)
            await client.ends(with: signal.1.rawValue)
        }
    }

    @Test func certificatesAreChecked() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let keys = "absent_origin: allowed, identity: { certificate: server.pem, key: server.key }"
        try await ChatTrial.with(ChatTrial.configuration(keys), scheme: "wss", in: authority.folder) { trial in
            let named = trial.url.replacing("127.0.0.1", with: "localhost")
            let ca = authority.authorityFile
            let message = ["--count", "1", "--body", #"{"action":"echo","id":"1"}"#]
            func run(_ url: String, _ arguments: [String]) async throws -> CommandProcess.Finished {
                try await CommandProcess.run(
                    ["connect", url] + arguments + (arguments.contains("--timeout") ? [] : ["--timeout", "100s"])
                )
            }
            Self.expect(try await run(named, []), .notSecured, "cannot secure")
            Self.expect(try await run(trial.url, ["--ca", ca]), .notSecured, "cannot secure")
            let trusted = try await run(named, message + ["--ca", ca])
            #expect(trusted.status == 0 && trusted.errors.isEmpty, "\(trusted.errors)")
            let careless = try await run(trial.url, message + ["--insecure"])
            #expect(careless.status == 0 && careless.output.count == 1)
            #expect(careless.errors.count == 1 && careless.errors.first?.contains("is not verified: anyone") == true)
            Self.expect(
                try await run(trial.url.replacing("wss:", with: "ws:"), []),
                .protocolBroken,
                "did not accept the WebSocket upgrade"
            )
        }
    }
}

/// `signalbox connect` with a configuration: messages are actions, and their outcomes are printed.
@Suite(.timeLimit(.minutes(10))) struct ConnectConfigurationTests {
    private static func configuration(_ url: String, _ keys: String = "") -> String {
        """
        sources:
          push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } }
          news: { feed: { url: '\(url)'\(keys) } }
        plugins:
          - { action: say, use: reply, value: 1, from: [ { source: news } ] }
          - { action: closed, use: log, from: [ { source: push } ] }
          - { action: said, use: echo, from: [ { source: news } ] }
          - { action: shown, use: print, from: [ { source: news } ] }
        limits: { message_bytes: 1KiB }
        """
    }

    private static func connect(
        _ trial: ChatTrial,
        _ keys: String = "",
        _ arguments: String...
    ) async throws -> CommandProcess.Finished {
        try ChatTrial.write(configuration(trial.url, keys), to: "news.yaml", in: trial.folder)
        return try await CommandProcess.run(["connect", "news.yaml"] + arguments, folder: trial.folder)
    }

    @Test func eachMessageIsPrintedWithItsOutcome() async throws {
        try await ChatTrial.with { trial in
            let finished = try await Self.connect(trial, "", "--body", #"{"action":"say","body":7}"#, "--count", "1")
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(
                finished.output == [#"{"source":"news","action":"say","body":7,"outcome":"handled","reply":1}"#]
            )
        }
    }

    @Test func answersToOwnMessagesAreShown() async throws {
        try await ChatTrial.with { trial in
            try ChatTrial.write(Self.configuration(trial.url), to: "news.yaml", in: trial.folder)
            let client = try CommandProcess(["connect", "news.yaml"], folder: trial.folder, isTyped: true)
            try client.type(#"{"action":"say","id":"9","body":7}"#)
            // The two lines may arrive in either order.
            var found: Set<String> = []
            for _ in 0..<2 { found.insert(try #require(await client.output.line(with: "{"))) }
            #expect(
                found == [
                    #"{"answer":{"id":"9","outcome":"handled","reply":{"refused":0,"sent":1}}}"#,
                    #"{"source":"news","action":"say","body":7,"outcome":"handled","reply":1}"#,
                ]
            )
            client.signal(SIGINT)
            await client.ends()
        }
    }

    @Test func anUnhandledMessageIsStatusOne() async throws {
        try await ChatTrial.with { trial in
            // The chat sends the message back, and this configuration receives it.
            let finished = try await Self.connect(
                trial,
                ", frames: { text: { action: closed, payload: text } }",
                "--body",
                #"{"action":"say"}"#,
                "--count",
                "1"
            )
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output.first?.contains(#""reason":"sourceNotAllowed""#) == true)
            #expect(finished.errors.last == "signalbox: messages that were not handled: 1")
        }
    }

    @Test func aPluginThatCannotStartIsUnavailable() async throws {
        try await TemporaryFolder.with { folder in
            let text = """
                sources: { news: { feed: { url: 'ws://127.0.0.1:1/' } } }
                plugins: [ { action: say, use: file, path: /dev/null, from: news } ]
                """
            try ChatTrial.write(text, to: "news.yaml", in: folder)
            let finished = try await CommandProcess.run(["connect", "news.yaml"], folder: folder)
            #expect(finished.status == CommandStatus.unavailable.rawValue)
            #expect(finished.errors.count == 1 && finished.errors[0].contains("/dev/null"), "\(finished.errors)")
        }
    }

    @Test func anUnexpectedBinaryMessageClosesTheConnection() async throws {
        let frames = "absent_origin: allowed, frames: { text: { action: echo, payload: text }, binary: echo }"
        try await ChatTrial.with(ChatTrial.configuration(frames)) { trial in
            let finished = try await Self.connect(trial, "", "--binary", "--body", "a")
            #expect(finished.status == CommandStatus.protocolBroken.rawValue)
            #expect(finished.errors.last?.contains("1003") == true, "\(finished.errors)")
            let large = try await Self.connect(trial, "", "--body", String(repeating: "a", count: 2_000))
            #expect(large.status == CommandStatus.protocolBroken.rawValue)
            #expect(large.errors.last?.contains("1009") == true, "\(large.errors)")
        }
    }

    @Test func echoesOfEchoesAreReceived() async throws {
        let frames = "frames: { text: { action: said, payload: text }, binary: said }"
        let chat = "absent_origin: allowed, frames: { text: { action: echo, payload: text }, binary: echo }"
        try await ChatTrial.with(ChatTrial.configuration(chat)) { trial in
            let finished = try await Self.connect(trial, ", \(frames)", "--body", "", "--count", "4")
            #expect(finished.status == 0)
            let line = #"{"source":"news","action":"said","body":null,"outcome":"handled","reply":null}"#
            #expect(finished.output == Array(repeating: line, count: 4))
        }
    }

    @Test func connectionsAreShownIfTheSectionAnnouncesThem() async throws {
        try await ChatTrial.with { trial in
            let finished = try await Self.connect(trial, ", announce_connections: true", "--count", "1")
            #expect(finished.output.first?.hasPrefix(#"{"source":"news","action":"signalbox.connected","#) == true)
            let hidden = try await Self.connect(trial, "", "--timeout", "500ms")
            #expect(hidden.status == CommandStatus.timeout.rawValue && hidden.output.isEmpty)
        }
    }

    @Test func theURLArgumentOverridesTheURLOfAnExistingFeed() async throws {
        try await ChatTrial.with { trial in
            try ChatTrial.write(Self.configuration("ws://127.0.0.1:1/"), to: "news.yaml", in: trial.folder)
            let message = ["--body", #"{"action":"say","body":7}"#, "--count", "1"]
            let arguments = ["connect", trial.url, "news.yaml", "--source", "news"] + message
            #expect(try await CommandProcess.run(arguments, folder: trial.folder).status == 0)
            let wrong = try await CommandProcess.run(
                ["connect", "news.yaml", "--source", "nwes"],
                folder: trial.folder
            )
            #expect(wrong.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(wrong.errors.first?.contains("there is no feed 'nwes'; did you mean 'news'?") == true)
            let none = try await CommandProcess.run(["connect", "chat.yaml"], folder: trial.folder)
            #expect(none.errors.first?.contains("there is no feed; add one below 'sources'") == true)
        }
    }
}
