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
