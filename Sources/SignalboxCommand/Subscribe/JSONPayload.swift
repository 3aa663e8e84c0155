import SignalboxCore

/// Payloads that are JSON, by the package's own strict reader.
enum JSONPayload {
    private static let pool = ArrivalPool()

    /// The payload without needless white space, or `nil` when it is empty or not JSON: then also for a member written
    /// twice, or more than 64 levels.
    ///
    /// - Parameter limits: the bounds of the message that it came by.
    static func compact(_ payload: Bytes, origin: Origin, limits: MessageLimits) -> [UInt8]? {
        guard !payload.isEmpty else { return nil }
        var batch = ArrivalBatch(pool: pool, limits: limits)
        let naming = RouteNaming(action: SubscribeRequest.action)
        payload.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: WallTime(seconds: 0), envelope: .route(naming))
        }
        guard case .success? = batch.take().first?.reading else { return nil }
        return JSONText.compact(payload)
    }
}
