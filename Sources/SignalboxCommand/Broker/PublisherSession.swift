import MQTTPush

/// A publisher that runs as long as something is done with it.
struct PublisherSession<Value: Sendable>: Sendable {
    /// How it ended.
    struct End: Sendable {
        /// What the work came to, when it came to its own end or noticed that it was cancelled.
        var value: Value?
        /// What made the publisher give up.
        var failure: (any Error)?
        /// A signal, or the time, that came before the work was done.
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
    /// When it is given up; never when `nil`.
    let timeout: Duration?

    /// Does the work while the publisher runs. Then what is queued is published, within the publisher's own bound.
    ///
    /// - Parameters:
    ///   - signals: the first one cancels the work.
    ///   - work: looks whether it is cancelled.
    func run(_ signals: SignalWatch, _ work: @escaping @Sendable () async -> Value) async -> End {
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

    private static func signal(_ signals: SignalWatch) async -> Event {
        for await _ in signals.firsts { return signals.first.map(Event.stopped) ?? .nothing }
        return .nothing
    }

    private static func time(_ timeout: Duration?) async -> Event {
        guard let timeout, (try? await Task.sleep(for: timeout)) != nil else { return .nothing }
        return .stopped(.timeout)
    }
}
