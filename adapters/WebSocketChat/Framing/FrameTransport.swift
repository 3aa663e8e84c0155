import Synchronization

/// Sends messages and commands to a transport's connections.
///
/// All methods can be called from any thread, and they never block.
protocol FrameSender: AnyObject, Sendable {
    /// Queues a message.
    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission
    /// The number of bytes that are queued for the connection and not written yet, or `nil` if the connection has ended.
    func waitingBytes(on connection: ConnectionID) -> Int?
    /// Queues a command. Commands and messages are processed in the order in which they are queued.
    func perform(_ command: FrameCommand, on connection: ConnectionID)
    /// Interrupts the thread's wait, so that the thread soon calls the receiver's `passEnded`.
    func wake()
}

/// Sends messages and commands to a client's connections, and opens them.
protocol ClientFrameSender: FrameSender {
    /// Starts connecting.
    ///
    /// Unless the transport is stopped, it later calls the receiver's `opened` or `closed` with the returned number.
    func connect(to target: ClientTarget) -> ConnectionID
}

/// Receives the events of a transport.
///
/// All methods are called in order on the service's thread, and they must not block. For each connection, the transport
/// calls ``opened(_:_:)`` at most once and then delivers the pieces. It calls ``closed(_:_:)`` exactly once, even if
/// the connection never opened, and makes no more calls for the connection after that.
protocol FrameReceiver: AnyObject {
    /// Called when the connection is open, so that messages can be sent to the peer.
    func opened(_ connection: ConnectionID, _ handshake: Handshake)
    /// Called for each piece of a message. The piece's bytes are valid only during the call.
    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict
    /// Called for each pong, solicited or not. A pong may be the answer to a ping sent by the transport itself.
    func ponged(_ connection: ConnectionID)
    /// Called when the connection has ended or could not be opened.
    func closed(_ connection: ConnectionID, _ reason: DisconnectReason)
    /// Called when all available data has been read. The receiver submits everything that has arrived since the last
    /// call.
    ///
    /// Commands that the receiver queues during the call are processed before the thread reads or waits again.
    func passEnded()
    /// Called about every half second, no matter how busy the thread is, so that the receiver can check deadlines.
    func ticked()
}

/// Receives a server's events and decides which clients may connect.
protocol ServerFrameReceiver: FrameReceiver, ListenerReceiver {
    /// Decides whether a client may connect. Called before ``opened(_:_:)``, with the same number.
    ///
    /// - Returns: The response to a client that may not connect, or `nil` to accept the client. An accepted connection
    ///   can still close without opening.
    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal?
    /// Called when the transport has refused an invalid upgrade request with an HTTP status, without calling
    /// ``refusal(of:for:)``.
    func refused(status: Int, from address: String)
}

/// Whether a message was queued.
enum SendAdmission: Equatable, Sendable {
    /// The message will be sent after earlier ones, unless the connection ends first.
    case accepted
    /// The message was refused because the connection has reached its limit for waiting bytes.
    case full
    /// The message was refused because the limit for all waiting bytes has been reached. To within a factor of 2,
    /// `slowest` is the connection with the most waiting bytes.
    case overloaded(slowest: ConnectionID)
    /// The connection is not open.
    case closed
}

/// Identifies a connection.
///
/// A process never reuses a number, so late calls for a connection that has ended have no effect.
struct ConnectionID: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    /// The number, which is never 0.
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// Returns an unused number. Safe to call from any thread.
    static func next() -> ConnectionID {
        ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}

/// The limits and timeouts of a transport.
struct TransportLimits: Equatable, Sendable {
    /// The maximum number of bytes waiting on one connection.
    ///
    /// Each message counts as its length plus ``messageOverhead`` until the system has accepted all of it.
    var waitingBytes = 1 << 20
    /// The maximum number of bytes waiting on all connections together.
    var allWaitingBytes = 64 << 20
    /// How long a client can be silent before the server pings it, in seconds. If this is 0, the receiver sends pings
    /// itself, as it always does for the connections of a client's transport.
    var pingAfter: UInt16 = 30
    /// How long a client can be silent before the server cuts it, in seconds. Must be more than ``pingAfter``.
    ///
    /// A paused connection is cut only if its peer finished sending that long ago.
    var cutAfter: UInt16 = 45
    /// The timeout for each step of opening a connection (connecting, TLS, request, response), in seconds.
    var connectWithin: UInt32 = 10
    /// How long peers have to answer the close frame when the transport stops, in seconds.
    var closeTimeoutSeconds = 0.5

    static let messageOverhead = 64
}

/// The error thrown when a transport cannot start.
struct TransportError: Error, Equatable, CustomStringConvertible {
    enum Code: Equatable, Sendable {
        /// Memory, a thread or a descriptor is not available.
        case noResources
        /// The port is in use, or the address is not local.
        case notListening
        /// A certificate, a key or an authority file cannot be used.
        case unusableCertificate
    }

    let code: Code
    /// A sentence that states the problem and how to fix it.
    let description: String
}
