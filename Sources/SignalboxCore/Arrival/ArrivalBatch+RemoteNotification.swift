extension ArrivalBatch {
    /// Appends what the system hands to `application(_:didReceiveRemoteNotification:)`: the dictionary is written as
    /// JSON, which is the arrival's original, and read as ``Envelope/apns``.
    ///
    /// Written are `String`, `Bool`, the integer types, finite floating-point numbers, `NSNumber`, `NSNull`, arrays and
    /// dictionaries of these, with names sorted by their UTF-8 bytes: the same push gives the same bytes. Anything else,
    /// a name that is no `String`, and more bytes or depth than ``MessageLimits`` make the arrival `malformed`; its
    /// original is then what was written before, which is no complete JSON text. ``Envelope/apnsLimit`` does not count, as
    /// the service has seen to that and the size on the wire is not known.
    ///
    /// - Parameters:
    ///   - userInfo: the dictionary as the system handed it over. Read before the call returns.
    ///   - token: the adapter's own mark, given back when the arrival is settled.
    ///   - origin: the source and its facts.
    ///   - sender: the way back, where there is one.
    ///   - receivedAt: when it was received.
    ///   - deadline: when it is too late to begin, where there is a limit.
    /// - Precondition: the batch stays below 4 GiB.
    public mutating func append(
        remoteNotification userInfo: [AnyHashable: Any],
        token: UInt64,
        origin: Origin,
        sender: (any Sender)? = nil,
        receivedAt: WallTime,
        deadline: ContinuousClock.Instant? = nil
    ) {
        var writer = NotificationWriter(limits: limits)
        do throws(BodyError) {
            try writer.write(userInfo)
            writer.bytes.withUnsafeBytes { bytes in
                append(
                    bytes,
                    token: token,
                    origin: origin,
                    sender: sender,
                    receivedAt: receivedAt,
                    deadline: deadline,
                    envelope: .deliveredPush
                )
            }
        } catch {
            let rejection = Outcome.Rejection(.malformed, error)
            writer.bytes.withUnsafeBytes { bytes in
                append(
                    rejected: rejection,
                    envelope: .apns,
                    original: bytes,
                    token: token,
                    origin: origin,
                    sender: sender,
                    receivedAt: receivedAt
                )
            }
        }
    }
}
