import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// A running source of HTTP requests.
struct RequestTrial: Sendable {
    let server: HTTPActionServer
    let port: UInt16
    let log: EventList<String>

    /// A listener whose times no busy machine exceeds.
    static func listener(_ change: (inout WebListenerConfiguration) -> Void = { _ in }) throws -> WebListener {
        var configuration = WebListenerConfiguration(port: 0)
        configuration.handshakeTimeout = .seconds(300)
        configuration.httpTimeout = .seconds(3_600)
        configuration.keepAlive = .seconds(3_600)
        configuration.httpLifetime = .seconds(7 * 86_400)
        change(&configuration)
        return try WebListener(configuration)
    }

    static func configuration(
        _ source: SourceName = "hooks",
        _ change: (inout HTTPActionConfiguration) -> Void = { _ in }
    ) -> HTTPActionConfiguration {
        var configuration = HTTPActionConfiguration(source: source)
        configuration.allowsAnyone = true
        configuration.roomTimeout = .seconds(3_600)
        change(&configuration)
        return configuration
    }

    static func make(
        _ configuration: HTTPActionConfiguration,
        on listener: WebListener
    ) throws -> (server: HTTPActionServer, log: EventList<String>) {
        let log = EventList<String>()
        let logger = Logger(label: "test") { _ in RecordingLog(log) }
        return (try HTTPActionServer(configuration, listener: listener, logger: logger), log)
    }

    /// Runs a source into the intake while `body` works, then stops it gracefully.
    static func with(
        intake: any Intake,
        listener change: (inout WebListenerConfiguration) -> Void = { _ in },
        _ configure: (inout HTTPActionConfiguration) -> Void = { _ in },
        _ body: (RequestTrial) async throws -> Void
    ) async throws {
        let (server, log) = try make(configuration("hooks", configure), on: listener(change))
        try await ServiceRun.during {
            try await server.run(into: intake)
        } onFailure: {
            (intake as? RecordingIntake)?.settleAll()
        } _: {
            try await body(RequestTrial(server: server, port: try #require(await server.port()), log: log))
        }
    }

    /// Runs a source behind a supervisor with the plugins that `register` adds.
    static func supervised(
        listener change: (inout WebListenerConfiguration) -> Void = { _ in },
        _ configure: (inout HTTPActionConfiguration) -> Void = { _ in },
        register: (Supervisor) throws -> Void,
        _ body: (RequestTrial) async throws -> Void
    ) async throws {
        let (server, log) = try make(configuration("hooks", configure), on: listener(change))
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try register(supervisor)
        try supervisor.add(server)
        try await supervisor.whileRunning {
            try await body(RequestTrial(server: server, port: try #require(await server.port()), log: log))
        }
    }

    /// Sends a request on a connection of its own and returns the answer.
    func answer(_ request: HTTPText) async throws -> HTTPText.Answer {
        let peer = try #require(RawPeer(port: port))
        return try await peer.answer(to: request)
    }

    func post(
        _ path: String,
        _ body: String = "{}",
        _ headers: [String] = ["Content-Type: application/json"]
    ) async throws -> HTTPText.Answer {
        try await answer(HTTPText("POST", path, headers, body))
    }
}

/// A request as text, and what is read of its answer.
struct HTTPText: Sendable {
    /// An answer to a request.
    struct Answer: Sendable, Equatable {
        var status = 0
        var headers: [String: String] = [:]
        var body = ""
    }

    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// A request with a proper length, if it has a body.
    init(_ method: String, _ path: String, _ headers: [String] = [], _ body: String? = nil) {
        let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
        let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + headers + length
        text = lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }
}

extension RawPeer {
    /// Sends a request and reads one answer.
    func answer(to request: HTTPText) async throws -> HTTPText.Answer {
        write(request.text)
        return try #require(HTTPText.Answer(await read { HTTPText.Answer($0) != nil }))
    }

    /// Whether the other side closes the connection.
    func closes() async -> Bool {
        _ = await read { _ in false }
        return true
    }
}

extension HTTPText.Answer {
    /// Reads an answer with a length, or returns `nil` if it is incomplete. Interim answers are skipped.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while true {
            guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            let fields = (lines.first ?? "").split(separator: " ")
            status = fields.count > 1 ? Int(fields[1]) ?? 0 : 0
            rest = rest[end.upperBound...]
            guard status >= 200 else { continue }
            for line in lines.dropFirst() {
                let halves = line.split(separator: ":", maxSplits: 1)
                guard halves.count == 2 else { continue }
                headers[halves[0].lowercased()] = String(halves[1].drop { $0 == " " })
            }
            break
        }
        let length = headers["content-length"].flatMap(Int.init) ?? 0
        guard rest.count >= length else { return nil }
        body = String(decoding: rest.prefix(length), as: UTF8.self)
    }
}
