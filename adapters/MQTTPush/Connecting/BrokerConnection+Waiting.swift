#if MQTT
import AdapterSupport
import SecureTransport

extension BrokerConnection {
    /// Waits until the link is ready, until a wake-up, or until `limit`, whichever is first.
    ///
    /// - Parameters:
    ///   - isReading: Whether bytes of the broker end the wait.
    ///   - hasOutput: Whether the wait also ends when the link accepts bytes.
    /// - Returns: Whether the broker has ended the connection.
    @discardableResult
    func wait(on link: any Link, isReading: Bool, hasOutput: Bool, until limit: ContinuousClock.Instant) -> Bool {
        var interest: SocketWait.Interest = isReading ? .readable : .hangUp
        // While it does not read, nothing continues a handshake that a read has begun.
        if isReading && link.waitsForWrite || hasOutput { interest.insert(.writable) }
        let wait = SocketWait(
            socket: link.descriptor,
            for: interest,
            wake: bridge.wake.readEnd,
            limit: max(.zero, limit - .now)
        )
        if wait.isWoken { bridge.wake.drain() }
        return wait.isClosed
    }

    /// Makes a call that may block, such as one that reads a file. A stop does not wait for it, unless the thread still has
    /// work.
    func blocking<Value>(_ call: () -> Result<Value, MQTTPushError>) throws(MQTTPushError) -> Value {
        try (bridge.blocking(call) ?? call()).get()
    }
}
#endif
