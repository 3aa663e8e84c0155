import SignalboxCore
import Synchronization

/// A connection as the one who reads it sees it. Belongs to the service's thread.
final class ReadConnection {
    let chat: ChatConnection
    let flow: ConnectionFlow
    let origin: Origin
    var assembler: MessageAssembler
    /// It is read again, or at least still, when the intake has taken what was read.
    var isTouched = false

    init(_ chat: ChatConnection, origin: Origin, flow: ConnectionFlow, limit: Int) {
        self.chat = chat
        self.origin = origin
        self.flow = flow
        assembler = MessageAssembler(limit: limit)
    }

    var id: ConnectionID { chat.number }
}

/// How many of a connection's messages have no outcome, and whether it is therefore read. Any thread.
///
/// Commands are given under the lock, so that the transport carries them out in the order of the states they follow from.
final class ConnectionFlow: Sendable {
    private struct State {
        var unsettled = 0
        var reasons: PauseReasons = []
    }

    let connection: ConnectionID
    private let window: Int
    private let transport: any FrameSender
    private let state = Mutex(State())

    /// - Parameter window: how many messages may be without an outcome until the connection is paused.
    init(_ connection: ConnectionID, window: Int, transport: any FrameSender) {
        self.connection = connection
        self.window = window
        self.transport = transport
    }

    var isPaused: Bool { state.withLock { !$0.reasons.isEmpty } }

    /// Counts messages. Whoever brought them must not read on while ``isPaused``: this gives no command.
    func add(_ count: Int) {
        state.withLock { state in
            state.unsettled += count
            if state.unsettled >= window { state.reasons.insert(.window) }
        }
    }

    /// Counts a message of our own, after which nobody's verdict says whether to read on: gives the command itself.
    func addOwn() {
        state.withLock { state in
            let wasRead = state.reasons.isEmpty
            state.unsettled += 1
            guard state.unsettled >= window else { return }
            state.reasons.insert(.window)
            if wasRead { transport.perform(.pause, on: connection) }
        }
    }

    /// Counts an outcome. Reading begins again when half the window is free, so that it does not begin for each message.
    func settle() {
        state.withLock { state in
            state.unsettled -= 1
            if state.unsettled <= window / 2 { remove(.window, from: &state) }
        }
    }

    /// Gives the command where the connection was read until now.
    func pause(_ reason: PauseReasons) {
        state.withLock { state in
            let wasRead = state.reasons.isEmpty
            state.reasons.insert(reason)
            if wasRead { transport.perform(.pause, on: connection) }
        }
    }

    /// Gives the command where nothing else keeps the connection from being read.
    func unpause(_ reason: PauseReasons) {
        state.withLock { remove(reason, from: &$0) }
    }

    private func remove(_ reason: PauseReasons, from state: inout State) {
        guard state.reasons.remove(reason) != nil, state.reasons.isEmpty else { return }
        transport.perform(.resume, on: connection)
    }
}

/// Why a connection is not read.
struct PauseReasons: OptionSet, Sendable {
    let rawValue: UInt8

    /// Too many of its messages have no outcome yet.
    static let window = PauseReasons(rawValue: 1)
    /// The source's window is full.
    static let room = PauseReasons(rawValue: 2)
    /// The source ends.
    static let end = PauseReasons(rawValue: 4)
}

/// Puts a connection's pieces together to messages. Belongs to the service's thread.
struct MessageAssembler {
    /// What a piece made of the message it belongs to.
    enum State: Equatable {
        case incomplete
        /// The piece was the last one.
        case whole
        /// The message has more bytes than the limit, or more empty pieces than ``emptyPieces``.
        case tooBig
    }

    /// How many pieces of a message may be empty: a few are made by compression and by whoever writes in streams, endless
    /// ones by nobody who means well.
    static let emptyPieces = 1_024
    private static let keptBytes = 4_096

    private let limit: Int
    private var held: [UInt8] = []
    private var empties = 0
    private var isWhole = false
    /// Whether a message has begun and not ended.
    private(set) var isUnderWay = false

    /// - Parameter limit: the most bytes of a message.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ piece: MessagePiece) -> State {
        if piece.isFirst { forget() }
        isUnderWay = !piece.isFinal
        if piece.bytes.isEmpty { empties += 1 }
        guard piece.bytes.count <= limit - held.count, empties <= MessageAssembler.emptyPieces else {
            held.append(contentsOf: piece.bytes.prefix(max(0, limit - held.count)))
            return .tooBig
        }
        isWhole = piece.isFirst && piece.isFinal
        if !isWhole { held.append(contentsOf: piece.bytes) }
        return piece.isFinal ? .whole : .incomplete
    }

    /// The message, after `whole`; its beginning, after `tooBig`. Most messages are one piece, which is not copied.
    ///
    /// - Parameter piece: the last one given.
    func withMessage(_ piece: MessagePiece, _ body: (UnsafeRawBufferPointer) -> Void) {
        if isWhole { return body(piece.bytes) }
        held.withUnsafeBytes(body)
    }

    /// Forgets the message and, when it was large, its memory.
    mutating func forget() {
        empties = 0
        isWhole = false
        isUnderWay = false
        if held.isEmpty { return }
        if held.capacity > MessageAssembler.keptBytes { held = [] } else { held.removeAll(keepingCapacity: true) }
    }
}
