import SignalboxCore
import Synchronization

/// The reading state of one connection. Only the service's thread uses it.
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

/// Counts a connection's unsettled messages, and pauses reading when there are too many.
///
/// This type is safe to use from any thread. It queues commands while it holds its lock, so that the transport
/// processes them in the order of the state changes.
final class ConnectionFlow: Sendable {
    private struct State {
        var unsettled = 0
        var reasons: PauseReasons = []
    }

    let connection: ConnectionID
    private let window: Int
    private let transport: any FrameSender
    private let state = Mutex(State())

    /// Creates the flow for a connection that is not paused.
    ///
    /// - Parameter window: The number of unsettled messages at which the connection is paused.
    init(_ connection: ConnectionID, window: Int, transport: any FrameSender) {
        self.connection = connection
        self.window = window
        self.transport = transport
    }

    var isPaused: Bool { state.withLock { !$0.reasons.isEmpty } }

    /// Counts messages. This method does not queue a command, so the caller must stop reading while ``isPaused`` is
    /// `true`.
    func add(_ count: Int) {
        state.withLock { state in
            state.unsettled += count
            if state.unsettled >= window { state.reasons.insert(.window) }
        }
    }

    /// Counts an internal message. This method queues the command itself, because an internal message has no piece
    /// whose verdict could pause the connection.
    func addInternal() {
        state.withLock { state in
            state.unsettled += 1
            if state.unsettled >= window { insert(.window, into: &state) }
        }
    }

    /// Counts an outcome. Reading resumes only when half the window is free, so that not every outcome causes a
    /// command.
    func settle() {
        state.withLock { state in
            state.unsettled -= 1
            if state.unsettled <= window / 2 { remove(.window, from: &state) }
        }
    }

    /// Adds a reason to pause. If it is the first one, the connection is paused.
    func pause(_ reason: PauseReasons) {
        state.withLock { insert(reason, into: &$0) }
    }

    /// Removes a reason to pause. If it was the last one, the connection resumes.
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

/// The reasons why a connection is paused.
struct PauseReasons: OptionSet, Sendable {
    let rawValue: UInt8

    /// Too many of the connection's messages are unsettled.
    static let window = PauseReasons(rawValue: 1)
    /// The source's window is full.
    static let backpressure = PauseReasons(rawValue: 2)
    /// The source is stopping.
    static let stopping = PauseReasons(rawValue: 4)
}

/// Assembles a connection's messages from their pieces. Only the service's thread uses it.
struct MessageAssembler {
    /// The state of a message after a piece.
    enum State: Equatable {
        case incomplete
        /// The piece was the last one.
        case complete
        /// The message has more bytes than allowed, or more empty pieces than ``emptyPieces``.
        case tooBig
    }

    /// The maximum number of empty pieces in a message. Compression and streaming produce a few; an attacker might send
    /// many.
    static let emptyPieces = 1_024
    private static let keptBytes = 4_096

    private let limit: Int
    private var held: [UInt8] = []
    private var empties = 0
    private var isSinglePiece = false
    /// Whether a message has started, but not ended.
    private(set) var isInProgress = false

    /// Creates an assembler.
    ///
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

    /// Passes the message to the closure after `complete`, or the start of the message after `tooBig`. A message that
    /// consists of one piece is not copied.
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
