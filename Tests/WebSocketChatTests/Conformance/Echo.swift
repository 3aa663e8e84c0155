import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import WebSocketChat

@testable import BrokerKit

/// A WebSocket source in a supervisor with a plugin that echoes every message.
struct Echo: Sendable {
    /// The body of the notice that a connection opened or closed.
    struct Notice: Decodable, Sendable, Equatable {
        let connection: String
        let code: Int?
    }

    static let action: ActionName = "echo"
    /// Echoes every message.
    static let frames = WebSocketFrames(text: .action(action, .text), binary: action)

    let supervisor: Supervisor
    /// The log lines, each prefixed with its level.
    let log: EventList<String>
    let opened = EventList<Notice>()
    let closed = EventList<Notice>()
    /// The messages received, before they are echoed.
    let received = EventList<Bytes>()

    private init(log: EventList<String>) {
        self.log = log
        supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "supervisor") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Runs the adapter that `make` returns while `body` works, and stops it gracefully.
    static func with<Adapting: Adapter>(
        window: WindowLimits = WindowLimits(),
        _ make: (Logger) throws -> Adapting,
        _ body: (Echo, Adapting) async throws -> Void
    ) async throws {
        let log = EventList<String>()
        let echo = Echo(log: log)
        let adapter = try make(Logger(label: "chat") { _ in RecordingLog(log) })
        let rule = AccessRule.source(adapter.source)
        try echo.supervisor.register(
            Registration(action, as: RawBody.self, from: rule) { [received = echo.received] body, context in
                received.append(body.bytes.copied())
                try Echo.answer(body, context)
            }
        )
        try echo.supervisor.register(
            Registration(.chatConnected, as: Notice.self, from: rule) { [opened = echo.opened] notice, _ in
                opened.append(notice)
            }
        )
        try echo.supervisor.register(
            Registration(.chatClosed, as: Notice.self, from: rule) { [closed = echo.closed] notice, _ in
                closed.append(notice)
            }
        )
        try echo.supervisor.add(adapter, window: window)
        try await echo.supervisor.whileRunning { try await body(echo, adapter) }
    }

    private static func answer(_ body: RawBody, _ context: ActionContext) throws {
        guard let chat = context.chat else { throw WireError("the action has no chat connection") }
        if body.kind == .bytes {
            try chat.send(binary: body.bytes)
        } else {
            try chat.send(text: String(decoding: body.bytes, as: UTF8.self))
        }
    }

    /// Runs a server that admits every client, listens on its own port and tolerates slow clients.
    static func withServer(
        window: WindowLimits = WindowLimits(),
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in },
        _ body: (Echo, WebSocketServer, UInt16) async throws -> Void
    ) async throws {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.path = "/chat"
        configuration.absentOrigin = .allowed
        configuration.frames = frames
        configuration.announcesConnections = true
        // On a busy machine, a raw client may answer no pings and finish its request late.
        configuration.handshakeTimeout = .seconds(300)
        configuration.pingAfter = .seconds(3_600)
        configuration.messageTimeout = .seconds(3_600)
        configuration.silenceLimit = .seconds(7_200)
        change(&configuration)
        try await with(window: window) {
            try WebSocketServer(configuration, logger: $0)
        } _: { echo, server in
            guard let port = await server.port() else { throw WireError("the server does not listen") }
            try await body(echo, server, port)
        }
    }

    /// Runs a feed of a local server that reconnects quickly.
    static func withFeed(
        of port: UInt16,
        window: WindowLimits = WindowLimits(),
        _ change: (inout WebSocketFeedConfiguration) -> Void = { _ in },
        _ body: (Echo, WebSocketFeed) async throws -> Void
    ) async throws {
        var configuration = WebSocketFeedConfiguration(
            source: "feed",
            url: try WebSocketURL("ws://127.0.0.1:\(port)/feed")
        )
        configuration.frames = frames
        configuration.announcesConnections = true
        configuration.reconnect = .quick
        // A test's host must not wait on a connection that the feed has given up, however slow the machine is.
        configuration.connectTimeout = .seconds(60)
        configuration.pingAfter = nil
        change(&configuration)
        try await with(window: window) {
            try WebSocketFeed(configuration, logger: $0)
        } _: { echo, feed in
            try await body(echo, feed)
        }
    }
}

extension WebSocketReconnect {
    /// Back-off for servers that return at once.
    static let quick = WebSocketReconnect(
        first: .milliseconds(1),
        cap: .milliseconds(5),
        slow: .milliseconds(1) ... .milliseconds(5)
    )
}

extension EventList<String> {
    /// Returns the warnings and errors that contain this text.
    func warnings(_ text: String) -> [String] {
        all.filter { ($0.hasPrefix("warning") || $0.hasPrefix("error")) && $0.contains(text) }
    }
}
