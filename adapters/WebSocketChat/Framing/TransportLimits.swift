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
