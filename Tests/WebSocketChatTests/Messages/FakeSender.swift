import Synchronization

@testable import WebSocketChat

/// A transport that sends nothing and keeps what it was told.
final class FakeSender: FrameSender {
    enum Told: Equatable, Sendable {
        case message(ConnectionID, [UInt8], MessageKind)
        case command(ConnectionID, FrameCommand)
        case wake
    }

    private struct State {
        var told: [Told] = []
        var admissions: [ConnectionID: SendAdmission] = [:]
        /// Until these are cut, all together wait too much.
        var crowding: [ConnectionID] = []
    }

    private let state = Mutex(State())

    var told: [Told] { state.withLock { $0.told } }

    /// The texts sent on a connection.
    func texts(on connection: ConnectionID) -> [String] {
        told.compactMap { told in
            guard case .message(connection, let bytes, .text) = told else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The commands for a connection.
    func commands(for connection: ConnectionID) -> [FrameCommand] {
        told.compactMap { told in
            guard case .command(connection, let command) = told else { return nil }
            return command
        }
    }

    /// What becomes of messages for the connection from now on.
    func answer(_ admission: SendAdmission, on connection: ConnectionID) {
        state.withLock { $0.admissions[connection] = admission }
    }

    /// All together wait too much until each of these is cut, the first of them the slowest.
    func crowd(with connections: [ConnectionID]) {
        state.withLock { $0.crowding = connections }
    }

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        state.withLock { state in
            let crowded = state.crowding.first.map { SendAdmission.crowded(slowest: $0) }
            let admission = state.admissions[connection] ?? crowded ?? .accepted
            if admission == .accepted { state.told.append(.message(connection, message, kind)) }
            return admission
        }
    }

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        state.withLock { state in
            if case .cut = command { state.crowding.removeAll { $0 == connection } }
            state.told.append(.command(connection, command))
        }
    }

    func wake() {
        state.withLock { $0.told.append(.wake) }
    }

    func connect(to target: ClientTarget) -> ConnectionID { .next() }
}
