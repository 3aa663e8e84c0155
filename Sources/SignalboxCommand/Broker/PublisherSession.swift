import MQTTPush

/// A publisher that runs while some work uses it.
struct PublisherSession<Value: Sendable>: Sendable {
    /// How the session ended.
    struct End: Sendable {
        /// The result of the work, if it returned, possibly after cancellation.
        var value: Value?
        /// The error that ended the publisher.
        var failure: (any Error)?
        /// The exit status of a signal or timeout that preceded the end of the work.
        var interruption: CommandStatus?

        fileprivate var isOpen: Bool { value == nil && failure == nil && interruption == nil }
    }

    private enum Event: Sendable {
        case done(Value)
        case ended((any Error)?)
        case stopped(CommandStatus)
        case nothing
    }

    let publisher: MQTTPublisher
    /// The time limit for the work, or `nil` for none.
    let timeout: Duration?

    /// Does the work while the publisher runs, then publishes the queued messages within the publisher's stop timeout.
    ///
    /// - Parameters:
    ///   - signals: The first signal cancels the work.
    ///   - work: The work, which must return when cancelled.
    func run(_ signals: WatchedSignals, _ work: @escaping @Sendable () async -> Value) async -> End {
        await withTaskGroup(of: Event.self) { group in
            group.addTask { .done(await work()) }
            group.addTask { .ended(await PublisherSession.failure(of: publisher)) }
            group.addTask { await PublisherSession.signal(signals) }
            group.addTask { await PublisherSession.time(timeout) }
            var end = End()
            while let event = await group.next() {
                switch event {
                case .done(let result): end.value = result
                case .ended(let error): end.failure = error
                case .stopped(let status): if end.isOpen { end.interruption = status }
                case .nothing: continue
                }
                group.cancelAll()
            }
            return end
        }
    }

    private static func failure(of publisher: MQTTPublisher) async -> (any Error)? {
        do {
            try await publisher.run()
            return nil
        } catch {
            return error
        }
    }

    private static func signal(_ signals: WatchedSignals) async -> Event {
        for await _ in signals.stopRequests { return signals.first.map(Event.stopped) ?? .nothing }
        return .nothing
    }

    private static func time(_ timeout: Duration?) async -> Event {
        guard let timeout, (try? await Task.sleep(for: timeout)) != nil else { return .nothing }
        return .stopped(.timeout)
    }
}
