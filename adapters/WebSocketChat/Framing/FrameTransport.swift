import Synchronization

/// Sends messages and commands to the connections of a transport.
///
/// All methods are safe to call from any thread, and they never block.
protocol FrameSender: AnyObject, Sendable {
    /// Queues a message.
    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission
    /// Queues a command. Commands and messages are processed in the order in which they were queued.
    func perform(_ command: FrameCommand, on connection: ConnectionID)
    /// Interrupts the thread's wait, so that the thread soon calls `passEnded` of the receiver.
    func wake()
    /// Starts to connect, if the transport is that of a client.
    ///
    /// Unless the transport is stopped, it later calls `opened` or `closed` of the receiver for the returned number.
    func connect(to target: ClientTarget) -> ConnectionID
}

/// Receives the events of a transport.
///
/// The transport makes all calls on the service's thread, in order, and the receiver must not block. For each
/// connection, the transport calls ``opened(_:_:)`` at most once and then delivers the pieces. It calls
/// ``closed(_:_:)`` exactly once, even if the connection never opened, and after that makes no further call for the
/// connection.
protocol FrameReceiver: AnyObject {
    /// The transport calls this method when the connection is open. Messages sent from now on reach the peer.
    func opened(_ connection: ConnectionID, _ handshake: Handshake)
    /// The transport calls this method for each piece of a message. The bytes of the piece are valid during the call.
    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict
    /// The transport calls this method for each pong, solicited or not. A pong may be the answer to the transport's own
    /// ping.
    func ponged(_ connection: ConnectionID)
    /// The transport calls this method when the connection has ended or could not be opened.
    func closed(_ connection: ConnectionID, _ reason: DisconnectReason)
    /// The transport calls this method for each command of a feed, in the order of all commands.
    func perform(_ command: FeedCommand)
    /// The transport calls this method when it has read all available data. The receiver submits what arrived since the
    /// last call.
    ///
    /// Commands that the receiver gives during the call are processed before the thread reads or waits again.
    func passEnded()
    /// The transport calls this method about every half second, regardless of load, so that the receiver can check
    /// deadlines.
    func ticked()
}

extension FrameReceiver {
    func perform(_ command: FeedCommand) {}
}

/// Receives the events of a server and decides which clients may connect.
protocol ServerFrameReceiver: FrameReceiver {
    /// The transport calls this method with the port that the server listens on, before any other method.
    func listens(on port: UInt16)
    /// Decides whether a client may connect. The transport calls this method before ``opened(_:_:)``, with the same
    /// number.
    ///
    /// - Returns: The response to a client that may not connect, or `nil` to accept the client. An accepted connection
    ///   may still close without opening.
    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal?
    /// The transport refused an invalid upgrade request with an HTTP status, without a call to ``refusal(of:for:)``.
    func refused(status: Int, from address: String)
    /// The transport cut a connection before its request, because the process is almost out of descriptors.
    func descriptorsExhausted()
    /// The transport closed an HTTP connection to make room for another.
    func evicted()
    /// The transport closed a connection on arrival or at its first request, because of the limit of HTTP connections.
    func limitReached()
}

/// The result of queueing a message.
enum SendAdmission: Equatable, Sendable {
    /// The message will be sent after earlier ones, unless the connection ends before that.
    case accepted
    /// The message was refused because the connection's waiting bytes have reached their limit.
    case full
    /// The message was refused because all waiting bytes have reached their common limit. Most of them wait on
    /// `slowest`.
    case overloaded(slowest: ConnectionID)
    /// The connection is not open.
    case closed
}

/// Identifies a connection.
///
/// A process never uses a number twice, so late calls for a connection that has ended have no effect.
struct ConnectionID: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    /// The number, which is never 0.
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// Returns an unused number. This function is safe to call from any thread.
    static func next() -> ConnectionID {
        ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}

/// The limits and timeouts of a transport.
struct TransportLimits: Equatable, Sendable {
    /// The maximum number of bytes waiting on one connection.
    ///
    /// Until the system has accepted all of a message, the message counts ``messageOverhead`` more than its length.
    var waitingBytes = 1 << 20
    /// The maximum number of bytes waiting on all connections.
    var allWaitingBytes = 64 << 20
    /// The period of silence after which a connection is pinged, in seconds. If it is 0, the receiver sends pings
    /// itself.
    var pingAfter: UInt16 = 30
    /// The period of silence after which a connection is cut, in seconds. It must be more than ``pingAfter``.
    ///
    /// A paused connection is cut only if its peer finished sending that long ago.
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
