import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct ServeLiveTests {
    private static func serve(_ configuration: String, _ arguments: String...) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await TemporaryFolder.with { folder in
            try ChatTrial.write(configuration, to: "c.yaml", in: folder)
            finished = try await CommandProcess.run(["serve", "c.yaml"] + arguments, folder: folder)
        }
        return try #require(finished)
    }

    @Test func serveNeedsAChatSource() async throws {
        let finished = try await Self.serve(
            """
            sources: { links: { links: { routes: [ { pattern: 'myapp://{action}' } ], urls: ['myapp://a'] } } }
            plugins: [ { action: a, use: log, from: [ { source: links } ] } ]
            """
        )
        #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
        #expect(
            finished.errors.first?.hasPrefix("signalbox: c.yaml: there is no chat; add one below 'sources'") == true
        )
    }

    @Test(arguments: [["--port", "1"], ["--address", "127.0.0.1"]])
    func anOptionIsRefusedIfThereAreSeveralChats(_ option: [String]) async throws {
        let several = ChatTrial.open.replacing(
            "sources: {",
            with: "sources: { other: { chat: { port: 0, absent_origin: allowed } },"
        )
        let finished = try await Self.serve(several, option[0], option[1])
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.errors.first?.contains("there are several: other, chat") == true, "\(finished.errors)")
    }

    @Test func aNonNumericAddressIsRefused() async throws {
        let finished = try await Self.serve(ChatTrial.open, "--address", "localhost")
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.errors.first?.contains("the address must be numeric") == true, "\(finished.errors)")
    }

    @Test func aPortInUseHasItsOwnStatus() async throws {
        let taken = try QuietListener()
        let finished = try await Self.serve(ChatTrial.open, "--port", "\(taken.port)")
        #expect(finished.status == CommandStatus.cannotListen.rawValue)
        #expect(finished.errors.contains { $0.hasPrefix("signalbox: source chat: ") && $0.contains("\(taken.port)") })
        #expect(finished.output.isEmpty)
    }

    @Test func oneChatThatCannotListenEndsTheCommand() async throws {
        let taken = try QuietListener()
        let several = ChatTrial.open.replacing(
            "sources: {",
            with: "sources: { other: { chat: { port: \(taken.port), absent_origin: allowed } },"
        )
        let finished = try await Self.serve(several)
        #expect(finished.status == CommandStatus.cannotListen.rawValue)
    }

    @Test func optionsOverrideTheSection() async throws {
        let port = try await Broker.with { $0.port }
        try await TemporaryFolder.with { folder in
            try ChatTrial.write(ChatTrial.open, to: "c.yaml", in: folder)
            let server = try CommandProcess(["serve", "c.yaml", "--port", "\(port)"], folder: folder)
            #expect(try await ChatTrial.listening(server) == "ws://127.0.0.1:\(port)/")
            // The port of the option also applies after a reload.
            let changed = ChatTrial.open.replacing("allowed,", with: "allowed, path: /chat,")
            try ChatTrial.write(changed, to: "c.yaml", in: folder)
            server.signal(SIGHUP)
            #expect(try await ChatTrial.listening(server) == "ws://127.0.0.1:\(port)/chat")
            try ChatTrial.write(
                changed.replacing("chat: { chat: {", with: "chat: { chatt: {"),
                to: "c.yaml",
                in: folder
            )
            server.signal(SIGHUP)
            #expect(await server.errors.line(with: "configuration refused") != nil)
            server.signal(SIGTERM)
            await server.ends()
        }
    }

    @Test func theListenAddressIsReportedAtEveryLogLevel() async throws {
        try await TemporaryFolder.with { folder in
            try ChatTrial.write(ChatTrial.open, to: "c.yaml", in: folder)
            let server = try CommandProcess(["serve", "c.yaml", "--log-level", "critical"], folder: folder)
            #expect(try await ChatTrial.listening(server).hasPrefix("ws://127.0.0.1:"))
            server.signal(SIGINT)
            await server.ends()
        }
    }

    @Test func pagesAndHealthAreServedWithTheChat() async throws {
        let pages = "absent_origin: allowed, path: /chat, pages: { /: { file: index.html, type: text/html } }"
        try await TemporaryFolder.with { folder in
            try ChatTrial.write("<p>hello</p>", to: "index.html", in: folder)
            try await ChatTrial.with(ChatTrial.configuration(pages), in: folder) { trial in
                let root = trial.url.replacing("ws://", with: "http://").replacing("/chat", with: "")
                func body(_ path: String) async throws -> String {
                    let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: root + path)))
                    return String(decoding: data, as: UTF8.self)
                }
                let (page, health) = (try await body("/"), try await body("/health"))
                #expect(page == "<p>hello</p>" && health.contains("ok"))
            }
            try FileManager.default.removeItem(at: folder.appendingPathComponent("index.html"))
            let finished = try await CommandProcess.run(["serve", "chat.yaml"], folder: folder)
            #expect(finished.status == CommandStatus.unreadableFile.rawValue)
        }
    }

    @Test func aReloadedChatKeepsItsPort() async throws {
        let port = try await Broker.with { $0.port }
        let configuration = ChatTrial.open.replacing("port: 0", with: "port: \(port)")
        try await TemporaryFolder.with { folder in
            try await ChatTrial.with(configuration, in: folder) { trial in
                let client = try trial.start("--raw", "--retry")
                try client.type(#"{"action":"echo","id":"1"}"#)
                #expect(await client.output.line(with: #""id":"1""#) != nil)
                let changed = configuration.replacing("allowed,", with: "allowed, connections: 9,")
                for text in [changed, configuration] {
                    try ChatTrial.write(text, to: "chat.yaml", in: folder)
                    trial.server.signal(SIGHUP)
                    // The chat may listen before the reload has ended.
                    var missing: Set = ["sourcesChanged=chat", "listening on \(trial.url)"]
                    while !missing.isEmpty {
                        let line = try #require(await trial.server.errors.line(with: " "))
                        missing = missing.filter { !line.contains($0) }
                    }
                    try client.type(#"{"action":"echo","id":"2"}"#)
                    #expect(await client.output.line(with: #""id":"2""#) != nil)
                }
                // An unchanged source keeps its connections.
                let plugin = configuration.replacing(
                    "{ action: broken, use: fail,",
                    with: "{ action: broken, use: log,"
                )
                try ChatTrial.write(plugin, to: "chat.yaml", in: folder)
                trial.server.signal(SIGHUP)
                #expect(await trial.server.errors.line(with: "configuration reloaded", "pluginsChanged=broken") != nil)
                try client.type(#"{"action":"broken","id":"3"}"#)
                #expect(await client.output.line(with: #""id":"3""#)?.contains("handled") == true)
                client.signal(SIGTERM)
                await client.ends()
            }
        }
    }

    @Test func feedsOfOneConfigurationReceiveTheSameChat() async throws {
        try await ChatTrial.with { chat in
            let feed = { (name: String) in
                "\(name): { feed: { url: '\(chat.url)', reconnect: { first: 10ms, cap: 20ms }, announce_connections: true } }"
            }
            let configuration = """
                sources:
                  \(feed("one"))
                  \(feed("two"))
                plugins:
                  - { action: say, use: print, from: [ { source: one, tls: false }, { source: two } ] }
                  - { action: signalbox.connected, use: print, from: [ { source: one }, { source: two } ] }
                """
            try ChatTrial.write(configuration, to: "feeds.yaml", in: chat.folder)
            let feeds = try CommandProcess(["run", "feeds.yaml"], folder: chat.folder)
            for _ in 0..<2 { #expect(await feeds.output.line(with: "signalbox.connected") != nil) }
            for _ in 0..<2 { #expect(await chat.server.output.line(with: "signalbox.connected", "outcome") != nil) }
            let said = try await chat.connect(#"{"action":"say","id":"1","body":7}"#, "--count", "2")
            #expect(said.status == 0)
            var sources: Set<Substring> = []
            for _ in 0..<2 {
                let line = try #require(await feeds.output.line(with: #""action":"say""#, #""body":7"#))
                sources.insert(line.prefix(#"{"source":"one""#.count))
            }
            #expect(sources == [#"{"source":"one""#, #"{"source":"two""#])
            // A changed feed reconnects; the other keeps its connection.
            let changed = configuration.replacing("two: { feed: {", with: "two: { feed: { compression: true,")
            try ChatTrial.write(changed, to: "feeds.yaml", in: chat.folder)
            feeds.signal(SIGHUP)
            #expect(await feeds.output.line(with: "signalbox.connected", #""source":"two""#) != nil)
            feeds.signal(SIGTERM)
            await feeds.ends()
        }
    }
}
