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
