import AdapterSupport
import SignalboxCore
import Synchronization

/// Holds a source's open connections, their tags, and the transport used to send to them.
///
/// This type is safe to use from any thread, and its methods never block.
final class ChatHub: Sendable {
    struct Limits: Sendable {
        /// The tags that each connection starts with.
        var tags: Set<String> = []
        var tagsPerConnection = 32
        /// The maximum size of a message. A larger one could never fit into a connection's queue.
        var waitingBytes = 1_048_576
        /// Whether the source closes the connection of a peer that reads too slowly, using code 1013. If not, the
        /// source only refuses the messages that do not fit.
        var closesSlowReaders = true
        var calls = Calls()
    }

    /// How the source's connections call their peers.
    struct Calls: Sendable {
        /// The maximum number of calls per connection that wait for an answer.
        var inFlight = 64
        /// Whether the source's text messages are standard envelopes, which answers are.
        var canBeAnswered = true
        /// The limits of a message, and so of an answer.
        var limits = MessageLimits()

        init() {}

        init(inFlight: Int, _ frames: WebSocketFrames, _ limits: MessageLimits) {
            self.inFlight = inFlight
            canBeAnswered = frames.text == .envelope(.standard)
            self.limits = limits
        }
    }

    private struct State {
        var transport: (any FrameSender)?
        var tags: [ConnectionID: Set<String>] = [:]
        var members: [String: Set<ConnectionID>] = [:]
        var slowReaders = 0
        var lateAnswers = 0
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// The number of connections that were closed because they read too slowly.
    var slowReaders: Int { state.withLock { $0.slowReaders } }
    /// The number of answers to calls that had already ended.
    var lateAnswers: Int { state.withLock { $0.lateAnswers } }
    var calls: Calls { limits.calls }

    func lateAnswerReceived() {
        state.withLock { $0.lateAnswers += 1 }
    }

    // MARK: - Connections

    /// Whether there is a transport, so that messages can be sent.
    var isAttached: Bool { state.withLock { $0.transport != nil } }

    /// Sets the transport, or removes it at the end of a run. Without a transport, attempts to send fail with `closed`.
    func attach(_ transport: (any FrameSender)?) {
        state.withLock { state in
            state.transport = transport
            if transport == nil {
                state.tags = [:]
                state.members = [:]
            }
        }
    }

    func opened(_ connection: ConnectionID) {
        state.withLock { state in
            state.tags[connection] = limits.tags
            for tag in limits.tags { state.members[tag, default: []].insert(connection) }
        }
    }

    func closed(_ connection: ConnectionID) {
        state.withLock { ChatHub.remove(connection, from: &$0) }
    }

    private static func remove(_ connection: ConnectionID, from state: inout State) {
        for tag in state.tags.removeValue(forKey: connection) ?? [] { drop(connection, tag, from: &state) }
    }

    private static func drop(_ connection: ConnectionID, _ tag: String, from state: inout State) {
        state.members[tag]?.remove(connection)
        if state.members[tag]?.isEmpty == true { state.members[tag] = nil }
    }

    // MARK: - Tags

    static let tagLength = 128

    func join(_ tag: String, _ connection: ConnectionID) -> Bool {
        guard (1...ChatHub.tagLength).contains(tag.utf8.count) else { return false }
        return state.withLock { state in
            guard let tags = state.tags[connection] else { return false }
            guard !tags.contains(tag) else { return true }
            guard tags.count < limits.tagsPerConnection else { return false }
            state.tags[connection]?.insert(tag)
            state.members[tag, default: []].insert(connection)
            return true
        }
    }

    func leave(_ tag: String, _ connection: ConnectionID) {
        state.withLock { state in
            guard state.tags[connection]?.remove(tag) != nil else { return }
            ChatHub.drop(connection, tag, from: &state)
        }
    }

    func tags(of connection: ConnectionID) -> [String] {
        state.withLock { Array($0.tags[connection] ?? []) }
    }

    // MARK: - Sending

    // The maximum number of slow readers to close in order to make room for one message.
    private static let attempts = 16

    func send(_ message: [UInt8], _ kind: MessageKind, to connection: ConnectionID) throws(SendRefused) {
        guard message.count + TransportLimits.messageOverhead <= limits.waitingBytes else { throw .tooLarge }
        let transport = state.withLock { $0.tags[connection] == nil ? nil : $0.transport }
        guard let transport else { throw .closed }
        for _ in 0..<ChatHub.attempts {
            switch transport.send(message, kind, on: connection) {
            case .accepted: return
            case .closed: throw .closed
            case .full:
                close(slow: connection, transport)
                throw .full
            case .overloaded(let slowest):
                // Closing the slowest connection frees its waiting bytes, so the other connections are not affected.
                guard close(slow: slowest, transport), slowest != connection else { throw .full }
            }
        }
        throw .full
    }

    func waitingBytes(on connection: ConnectionID) -> Int? {
        state.withLock { $0.transport }?.waitingBytes(on: connection)
    }

    func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        let members = state.withLock { $0.members[tag] ?? [] }
        var report = BroadcastReport()
        guard body.isUTF8 else {
            report.refused = members.count
            return report
        }
        let frame = AnswerWriter.envelope(action, id: nil, body: body)
        for connection in members {
            do throws(SendRefused) {
                try send(frame, .text, to: connection)
                report.sent += 1
            } catch {
                report.refused += 1
            }
        }
        return report
    }

    func close(_ connection: ConnectionID, _ code: CloseCode, reason: String) {
        state.withLock { $0.transport }?.perform(.close(code, reason: reason), on: connection)
    }

    /// Closes a slow reader and removes it from the hub, so that it is counted only once.
    ///
    /// - Returns: Whether this call closed the connection.
    @discardableResult
    private func close(slow connection: ConnectionID, _ transport: any FrameSender) -> Bool {
        guard limits.closesSlowReaders else { return false }
        let isFirst = state.withLock { state in
            guard state.tags[connection] != nil else { return false }
            ChatHub.remove(connection, from: &state)
            state.slowReaders += 1
            return true
        }
        if isFirst { transport.perform(.cut(.tryAgainLater, reason: "reads too slowly"), on: connection) }
        return isFirst
    }
}
