import MQTTPush

/// How work that used a publisher ended.
struct PublisherEnd<Value: Sendable>: Sendable {
    /// The result of the work. The work may have ended because it was cancelled.
    var result: Result<Value, MQTTPublishError>?
    /// The error that ended the publisher, or `nil` if there was none.
    var failure: (any Error)?
    /// The exit status of a signal or timeout that came before the end of the work, or `nil` if there was none.
    var interruption: CommandStatus?

    /// Returns the value of the work.
    ///
    /// - Parameter problem: The start of the error message.
    /// - Throws: ``CommandFailure`` if the work failed or the publisher ended first.
    @discardableResult
    func value(orFail problem: String) throws(CommandFailure) -> Value {
        switch (result, failure) {
        case (.success(let value)?, _): return value
        case (_, let failure?): throw CommandFailure(CommandStatus(connection: failure), "\(problem): \(failure)")
        case (.failure(let error)?, _):
            throw CommandFailure(interruption ?? CommandStatus(error), "\(problem): \(error)")
        case (nil, nil): throw CommandFailure(interruption ?? .unavailable, problem)
        }
    }
}

extension MQTTPublisher {
    /// Does the work while the publisher runs. Afterwards, the publisher has its stop timeout to publish the messages
    /// that are still queued.
    ///
    /// - Parameters:
    ///   - timeout: The time limit for the work, or `nil` for no limit.
    ///   - work: The work, which a signal cancels. The closure must return when it is cancelled.
    func run<Value: Sendable>(
        timeout: Duration?,
        _ work: @escaping @Sendable () async throws(MQTTPublishError) -> Value
    ) async -> PublisherEnd<Value> {
        let signals = await SignalWatch.begin()
        return await withTaskGroup(of: (@Sendable (inout PublisherEnd<Value>) -> Void).self) { group in
            group.addTask {
                do throws(MQTTPublishError) {
                    let value = try await work()
                    return { $0.result = .success(value) }
                } catch {
                    return { $0.result = .failure(error) }
                }
            }
            group.addTask {
                do {
                    try await self.run()
                    return { _ in }
                } catch {
                    return { $0.failure = error }
                }
            }
            group.addTask {
                let status = await signals.interruption(timeout: timeout)
                return { if $0.result == nil, $0.failure == nil { $0.interruption = status } }
            }
            var end = PublisherEnd<Value>()
            while let change = await group.next() {
                change(&end)
                group.cancelAll()
            }
            return end
        }
    }
}
