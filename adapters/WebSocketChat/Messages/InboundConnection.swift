import SignalboxCore
import Synchronization

/// The reading state of a connection. Belongs to the service's thread.
final class InboundConnection {
    let chat: ChatConnection
    let flow: ConnectionFlow
    let origin: Origin
    var assembler: MessageAssembler
    /// Whether reading must resume when the intake has accepted the messages read so far.
    var isTouched = false

    init(_ chat: ChatConnection, origin: Origin, flow: ConnectionFlow, limit: Int) {
        self.chat = chat
        self.origin = origin
        self.flow = flow
        assembler = MessageAssembler(limit: limit)
    }

    var id: ConnectionID { chat.number }
}

/// Counts a connection's unsettled messages and pauses reading when there are too many. Any thread.
///
/// Commands are given under the lock, so that the transport processes them in the order of the state changes.
final class ConnectionFlow: Sendable {
    private struct State {
        var unsettled = 0
        var reasons: PauseReasons = []
    }

    let connection: ConnectionID
    private let window: Int
    private let transport: any FrameSender
    private let state = Mutex(State())

    /// - Parameter window: The number of unsettled messages at which the connection is paused.
    init(_ connection: ConnectionID, window: Int, transport: any FrameSender) {
        self.connection = connection
        self.window = window
        self.transport = transport
    }

    var isPaused: Bool { state.withLock { !$0.reasons.isEmpty } }

    /// Counts messages. Gives no command: the caller must stop reading while ``isPaused``.
    func add(_ count: Int) {
        state.withLock { state in
            state.unsettled += count
            if state.unsettled >= window { state.reasons.insert(.window) }
        }
    }

    /// Counts an internal message, and gives the command itself, because no piece verdict follows.
    func addInternal() {
        state.withLock { state in
            state.unsettled += 1
            if state.unsettled >= window { insert(.window, into: &state) }
        }
    }

    /// Counts an outcome. Reading resumes when half the window is free, rather than at each outcome.
    func settle() {
        state.withLock { state in
            state.unsettled -= 1
            if state.unsettled <= window / 2 { remove(.window, from: &state) }
        }
    }

    /// Adds a reason, and pauses the connection if it is the first.
    func pause(_ reason: PauseReasons) {
        state.withLock { insert(reason, into: &$0) }
    }

    /// Removes a reason, and resumes the connection if it was the last.
    func unpause(_ reason: PauseReasons) {
        state.withLock { remove(reason, from: &$0) }
    }

    private func insert(_ reason: PauseReasons, into state: inout State) {
        if state.reasons.isEmpty { transport.perform(.pause, on: connection) }
        state.reasons.insert(reason)
    }

    private func remove(_ reason: PauseReasons, from state: inout State) {
        guard state.reasons.remove(reason) != nil, state.reasons.isEmpty else { return }
        transport.perform(.resume, on: connection)
    }
}

/// The reasons that a connection is paused.
struct PauseReasons: OptionSet, Sendable {
    let rawValue: UInt8

    /// Too many of its messages are unsettled.
    static let window = PauseReasons(rawValue: 1)
    /// The source's window is full.
    static let backpressure = PauseReasons(rawValue: 2)
    /// The source is stopping.
    static let stopping = PauseReasons(rawValue: 4)
}

/// Assembles the messages of a connection from their pieces. Belongs to the service's thread.
struct MessageAssembler {
    /// The state of a message after a piece.
    enum State: Equatable {
        case incomplete
        /// The piece was the last one.
        case complete
        /// The message has more bytes than the limit, or more empty pieces than ``emptyPieces``.
        case tooBig
    }

    /// The maximum number of empty pieces in a message. Compression and streaming produce a few, attackers many.
    static let emptyPieces = 1_024
    private static let keptBytes = 4_096

    private let limit: Int
    private var held: [UInt8] = []
    private var empties = 0
    private var isSinglePiece = false
    /// Whether a message has started and not ended.
    private(set) var isInProgress = false

    /// - Parameter limit: The maximum size of a message, in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ piece: MessagePiece) -> State {
        if piece.isFirst { reset() }
        isInProgress = !piece.isFinal
        if piece.bytes.isEmpty { empties += 1 }
        guard piece.bytes.count <= limit - held.count, empties <= MessageAssembler.emptyPieces else {
            held.append(contentsOf: piece.bytes.prefix(max(0, limit - held.count)))
            return .tooBig
        }
        isSinglePiece = piece.isFirst && piece.isFinal
        if !isSinglePiece { held.append(contentsOf: piece.bytes) }
        return piece.isFinal ? .complete : .incomplete
    }

    /// Passes the message after `complete`, or its beginning after `tooBig`. A message of one piece is not copied.
    ///
    /// - Parameter piece: The piece that was added last.
    func withMessage(_ piece: MessagePiece, _ body: (UnsafeRawBufferPointer) -> Void) {
        if isSinglePiece { return body(piece.bytes) }
        held.withUnsafeBytes(body)
    }

    /// Discards the message, and frees its memory if it was large.
    mutating func reset() {
        empties = 0
        isSinglePiece = false
        isInProgress = false
        if held.isEmpty { return }
        if held.capacity > MessageAssembler.keptBytes { held = [] } else { held.removeAll(keepingCapacity: true) }
    }
}
