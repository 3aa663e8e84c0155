import Synchronization

/// The way to a transport's connections. Every call is safe on any thread and never waits.
protocol FrameSender: AnyObject, Sendable {
    /// Queues one message.
    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission
    /// Gives a command; commands and messages are carried out in the order they were given.
    func perform(_ command: FrameCommand, on connection: ConnectionID)
    /// Makes the thread end its wait, so that the receiver's `passEnded` is called soon.
    func wake()
    /// Begins to connect, on a client's transport. `opened` or `closed` comes for the number, unless
    /// the transport is stopped.
    func connect(to target: ClientTarget) -> ConnectionID
}

/// What parses and makes frames: one thread with its connections. Every call is safe on any thread.
protocol FrameTransport: FrameSender {
    /// Ends every connection with 1001 as far as the peers take it at once, and the thread. May be called repeatedly.
    func stop()
    /// Returns when the thread has ended: no call to the receiver comes any more.
    func stopped() async
}

/// What messages become. All calls come on the service's one thread, in order, and must not block.
///
/// For each connection: ``opened(_:_:)`` at most once, then pieces, then ``closed(_:_:)`` exactly once, also for a
/// connection that never opened. Nothing comes after that.
protocol FrameReceiver: AnyObject {
    /// The connection is open: what is sent from now on reaches the peer.
    func opened(_ connection: ConnectionID, _ handshake: Handshake)
    /// A piece of a message came; its bytes are valid during the call.
    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict
    /// The peer answered a ping, or sent an answer without having been asked. Of the transport's
    /// own pings, the answers may be told, too.
    func ponged(_ connection: ConnectionID)
    /// All that was to be sent has been handed to the library, and nothing waits.
    func drained(_ connection: ConnectionID)
    /// The connection is no more, or could not be made.
    func closed(_ connection: ConnectionID, _ end: ConnectionEnd)
    /// All that was ready has been read: the time to submit what has come since the last call.
    ///
    /// Commands given inside are carried out before the thread reads or waits again.
    func passEnded()
    /// Called about every half second, however much or little there is to do: the time to look at deadlines.
    func ticked()
}

/// What messages to a server become, and who may send them.
protocol ServerFrameReceiver: FrameReceiver {
    /// The server listens on this port; before any other call.
    func listens(on port: UInt16)
    /// Whether a client may have the connection; before ``opened(_:_:)``, with the same number.
    ///
    /// An accepted connection may still close without having opened.
    func decide(_ request: UpgradeRequest, for connection: ConnectionID) -> UpgradeDecision
    /// A request for an upgrade was refused with an HTTP status before anybody was asked, as it was no proper request.
    func refused(status: Int, from address: String)
    /// A connection was cut before its request, as the process has hardly a descriptor left.
    func cutForDescriptors()
    /// An HTTP connection was closed to make room for another.
    func evicted()
    /// A connection was closed on arrival or at its first request, as the limit of HTTP connections was reached.
    func turnedAway()
}

extension ServerFrameReceiver {
    func listens(on port: UInt16) {}
    func refused(status: Int, from address: String) {}
    func cutForDescriptors() {}
    func evicted() {}
    func turnedAway() {}
}

/// What became of a message to be sent.
enum SendAdmission: Equatable, Sendable {
    /// It will be sent in its turn, unless the connection ends before.
    case accepted
    /// The connection's waiting bytes have reached their limit: the message was not taken.
    case full
    /// All connections together have reached the limit: the message was not taken. On this one most bytes wait.
    case crowded(slowest: ConnectionID)
    /// The connection is not open.
    case gone
}

/// The number of a connection: never given twice in a process, so what comes late for an ended connection meets nobody.
struct ConnectionID: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    /// Never 0.
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// A number that was not given before. Safe on any thread.
    static func next() -> ConnectionID {
        ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}

/// Why a connection is no more, or why there was none. Texts are for people, of at most ``textLimit`` bytes.
enum ConnectionEnd: Equatable, Sendable {
    /// What was asked for cannot be put into a request.
    case unusable(String)
    /// The address could not be resolved.
    case notResolved(String)
    /// No connection to the address.
    case notConnected(String)
    /// The connection could not be secured: a certificate is not trusted, not for this host, or TLS failed.
    case notSecured(String)
    /// The server answered with this HTTP status instead of the upgrade.
    case refused(status: Int)
    /// The server's answer was no upgrade that can be used.
    case noUpgrade(String)
    /// The peer closed with this code, ``CloseCode/absent`` where it gave none.
    case closedByPeer(CloseCode, reason: String)
    /// We closed with this code.
    case closedHere(CloseCode, reason: String)
    /// The peer sent what RFC 6455 forbids (1002) or text that is not UTF-8 (1007), and was told so. On the client's side
    /// the library mostly does not say so; then it is ``lost``.
    case brokeProtocol(CloseCode)
    /// It broke, or the peer gave no sign of life, without a close frame.
    case lost
    /// The service was stopped.
    case stopped

    static let textLimit = 256
}

/// What a transport holds at most, and how long it waits.
struct TransportLimits: Equatable, Sendable {
    /// Bytes that wait to be sent on one connection, until the system has taken the whole of a message; each counts
    /// ``messageOverhead`` more than its own.
    var waitingBytes = 1 << 20
    /// Bytes that wait to be sent on all connections.
    var allWaitingBytes = 64 << 20
    /// How long a connection may be without a sign of life until it is pinged, in seconds; 0 leaves that to the receiver.
    var pingAfter: UInt16 = 30
    /// How long until it is cut, in seconds; more than ``pingAfter``. A paused connection is not, except when its peer has
    /// finished so long ago.
    var cutAfter: UInt16 = 45
    /// How long each step of opening may take, in seconds: connecting, TLS, the request, the answer.
    var connectWithin: UInt32 = 10
    /// How long peers have for the answer to our close frame when the transport stops, in seconds.
    var farewellSeconds = 0.5

    static let messageOverhead = 64
}

/// Why there is no transport.
struct TransportFault: Error, Equatable, CustomStringConvertible {
    enum Code: Equatable, Sendable {
        /// Memory, a thread or a descriptor is missing.
        case noResources
        /// The port is taken, or the address is not this machine's.
        case notListening
        /// A certificate, a key or a file of authorities cannot be used.
        case unusableCertificate
    }

    let code: Code
    /// What happened and what to do.
    let description: String
}
