import AdapterSupport
import SignalboxCore

/// The waits of one attempt to connect. A stop of the thread and the end of the attempt's time interrupt each of them.
struct DialWait {
    let wake: WakeSignal
    let isStopping: () -> Bool
    /// When the time for the attempt is over.
    let end: ContinuousClock.Instant

    /// Does blocking work on another thread and waits for its result.
    ///
    /// - Parameters:
    ///   - timeout: The error if the work takes too long.
    /// - Returns: The result, or `nil` if the thread is stopping. In both cases without a result, the work ends by itself
    ///   if it has started, and is not started otherwise.
    func result<Value: Sendable>(
        on pool: BlockingThreadPool,
        timeout: LinkError = .timeout,
        of work: @escaping @Sendable () throws(LinkError) -> Value
    ) throws(LinkError) -> Value? {
        let promise = Promise<Result<Value, LinkError>>()
        let ticket = pool.perform { [wake] error in
            if let error {
                promise.set(.failure(.noResources(error.description)))
            } else {
                promise.set(Result { () throws(LinkError) in try work() })
            }
            wake.wake()
        }
        while true {
            guard !isStopping() else {
                pool.cancel(ticket)
                return nil
            }
            if let result = promise.current { return try result.get() }
            let left = end - .now
            guard left > .zero else {
                pool.cancel(ticket)
                throw timeout
            }
            wake.wait(for: left)
        }
    }

    /// Waits until a socket is writable or has an error, until a wake-up, or until `limit`, whichever is first.
    ///
    /// - Returns: The positions of the ready sockets.
    /// - Throws: ``LinkError/timeout`` if the time for the attempt is over.
    func writable(_ sockets: [OwnedDescriptor], until limit: ContinuousClock.Instant? = nil) throws(LinkError) -> [Int]
    {
        let now = ContinuousClock.now
        guard now < end else { throw .timeout }
        var entries = sockets.map { pollfd(fd: $0.number, events: Int16(POLLOUT), revents: 0) }
        entries.append(pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0))
        let left = max(.zero, min(end, limit ?? end) - now)
        guard poll(&entries, nfds_t(entries.count), left.pollMilliseconds) > 0 else { return [] }
        if entries.last?.revents != 0 { wake.drain() }
        return sockets.indices.filter { entries[$0].revents != 0 }
    }
}
