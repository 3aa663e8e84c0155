import Synchronization

/// Sends messages and commands to a transport's connections. Every call is safe on any thread and never blocks.
protocol FrameSender: AnyObject, Sendable {
    /// Queues a message.
    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission
    /// Queues a command. Commands and messages are processed in the order in which they were queued.
    func perform(_ command: FrameCommand, on connection: ConnectionID)
    /// Interrupts the thread's wait, so that it calls the receiver's `passEnded` soon.
    func wake()
    /// Starts to connect, on a client's transport. The receiver's `opened` or `closed` is called for the returned
    /// number, unless the transport is stopped.
    func connect(to target: ClientTarget) -> ConnectionID
}

/// Receives a transport's events. All calls occur on the service's thread, in order, and must not block.
///
/// For each connection, ``opened(_:_:)`` is called at most once, then pieces, then ``closed(_:_:)`` exactly once, even
/// if the connection never opened. No call follows.
protocol FrameReceiver: AnyObject {
    /// Called when the connection is open. Messages sent from here on reach the peer.
    func opened(_ connection: ConnectionID, _ handshake: Handshake)
    /// Called for each piece of a message. Its bytes are valid during the call.
    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict
    /// Called for each pong, solicited or not. May include answers to the transport's own pings.
    func ponged(_ connection: ConnectionID)
    /// Called when the connection has ended or could not be opened.
    func closed(_ connection: ConnectionID, _ reason: DisconnectReason)
    /// Called for each command of a feed, in the order of all commands.
    func perform(_ command: FeedCommand)
    /// Called when all available data has been read; submit what arrived since the last call.
    ///
    /// Commands given inside are processed before the thread reads or waits again.
    func passEnded()
    /// Called about every half second, regardless of load, to check deadlines.
    func ticked()
}

extension FrameReceiver {
    func perform(_ command: FeedCommand) {}
}

/// Receives a server's events and decides on its clients.
protocol ServerFrameReceiver: FrameReceiver {
    /// Called with the port that the server listens on, before any other call.
    func listens(on port: UInt16)
    /// Decides whether a client may connect. Called before ``opened(_:_:)``, with the same number.
    ///
    /// - Returns: The response to a client that may not connect; `nil` to accept it. An accepted connection may still
    ///   close without opening.
    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal?
    /// Called when an invalid upgrade request was refused with an HTTP status, without a call to ``refusal(of:for:)``.
    func refused(status: Int, from address: String)
    /// Called when a connection was cut before its request because the process is almost out of descriptors.
    func descriptorsExhausted()
    /// Called when an HTTP connection was closed to make room for another.
    func evicted()
    /// Called when a connection was closed on arrival or at its first request because of the limit of HTTP connections.
    func limitReached()
}

/// The result of queueing a message.
enum SendAdmission: Equatable, Sendable {
    /// The message will be sent after earlier ones, unless the connection ends before.
    case accepted
    /// The message was refused because the connection's waiting bytes have reached their limit.
    case full
    /// The message was refused because all waiting bytes have reached their common limit. `slowest` has the most.
    case overloaded(slowest: ConnectionID)
    /// The connection is not open.
    case closed
}

/// Identifies a connection. Never reused within a process, so late calls for an ended connection have no effect.
struct ConnectionID: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    /// Never 0.
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// Returns an unused number. Safe on any thread.
    static func next() -> ConnectionID {
        ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}

/// The limits and timeouts of a transport.
struct TransportLimits: Equatable, Sendable {
    /// The maximum number of bytes waiting on one connection. A message counts ``messageOverhead`` more than its
    /// length, until the system has accepted all of it.
    var waitingBytes = 1 << 20
    /// The maximum number of bytes waiting on all connections.
    var allWaitingBytes = 64 << 20
    /// The period of silence after which a connection is pinged, in seconds; with 0, the receiver sends pings.
    var pingAfter: UInt16 = 30
    /// The period of silence after which a connection is cut, in seconds; more than ``pingAfter``. A paused connection
    /// is only cut if its peer finished that long ago.
    var cutAfter: UInt16 = 45
    /// The timeout of each step of opening (connecting, TLS, request, response), in seconds.
    var connectWithin: UInt32 = 10
    /// The time for peers to answer the close frame when the transport stops, in seconds.
    var closeTimeoutSeconds = 0.5

    static let messageOverhead = 64
}

/// The error thrown when a transport cannot start.
struct TransportError: Error, Equatable, CustomStringConvertible {
    enum Code: Equatable, Sendable {
        /// Memory, a thread or a descriptor is unavailable.
        case noResources
        /// The port is in use, or the address is not local.
        case notListening
        /// A certificate, a key or an authority file cannot be used.
        case unusableCertificate
    }

    let code: Code
    /// The problem and the remedy.
    let description: String
}
