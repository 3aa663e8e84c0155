import BrowserBridge
import JSBridge
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization

/// The engine, and a page without a browser: a socket that connects once in each run.
final class SocketSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 512
    private let engine: BrowserEngine
    private let state = Mutex(State())

    private struct State {
        var sockets: [UInt16: PageSocket] = [:]
        /// Which call a message was, and on which socket.
        var calls: [String: (number: Int, socket: PageSocket)] = [:]
        var last = 0
    }

    init(_ source: SourceName) throws {
        let configuration = BrowserConfiguration(source: source)
        engine = try BrowserEngine(configuration, logger: Logger(label: "page") { _ in SwiftLogNoOpLogHandler() })
        adapter = engine
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let socket = try await socket()
        for message in messages {
            let number = state.withLock { state in
                state.last += 1
                state.calls[message.id.text] = (state.last, socket)
                return state.last
            }
            socket.send("call \(number) 0\n\(message.envelope)")
        }
    }

    // Each run has a port of its own, mostly.
    private func socket() async throws -> PageSocket {
        while true {
            try Task.checkCancellation()
            guard let port = await engine.port() else {
                await Task.yield()
                continue
            }
            if let known = state.withLock({ $0.sockets[port] }), !known.isClosed { return known }
            let token = try await engine.fragment().dropFirst("signalbox=".count)
            let socket = try await PageSocket(port, token: String(token))
            guard socket.status == 101 else { continue }
            state.withLock { $0.sockets[port] = socket }
            return socket
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        guard let (number, socket) = state.withLock({ $0.calls[id.text] }) else {
            throw ConformanceError("no message has this id")
        }
        let lines = ["reply \(number)", "refuse \(number)"]
        do {
            let text = try await socket.text { text in
                lines.contains { text == $0 || text.hasPrefix($0 + "\n") }
            }
            return try SocketSubject.answer(text)
        } catch let closed as PageSocket.Closed {
            // As browser.js takes it.
            guard closed.code == 1001 else { throw ConformanceError("the connection ended: \(closed)") }
            return .error(code: "drain")
        }
    }

    private static func answer(_ text: String) throws -> ConformanceAnswer {
        let parts = text.split(separator: "\n", maxSplits: 1)
        if text.hasPrefix("reply") { return .reply(parts.count > 1 ? Bytes(String(parts[1])) : nil) }
        let code = try Body(json: Bytes(String(parts[1]))).decode([String?].self).first
        return .error(code: (code ?? nil) ?? "none")
    }

    func end() async {
        state.withLock { state in
            for socket in state.sockets.values { socket.cut() }
        }
    }
}
