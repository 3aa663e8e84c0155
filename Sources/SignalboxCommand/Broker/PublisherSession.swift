import MQTTPush

/// How an operation that used a publisher ended.
struct PublisherEnd<Value: Sendable>: Sendable {
    /// The result of the operation, which may have ended because it was cancelled.
    var result: Result<Value, MQTTPublishError>?
    /// The error that ended the publisher, or `nil` if it did not fail.
    var failure: (any Error)?
    /// The exit status for a signal or timeout that arrived before the operation ended, or `nil` if neither did.
    var interruption: CommandStatus?

    /// Returns the value that the operation produced.
    ///
    /// - Parameter problem: The start of the error message.
    /// - Throws: ``CommandFailure`` if the operation failed or the publisher ended first.
    @discardableResult
    func value(orFail problem: String) throws(CommandFailure) -> Value {
        switch (result, failure) {
        case (.success(let value)?, _): return value
        case (_, let failure?):
            throw CommandFailure(CommandStatus(connection: failure), "\(problem): \(failure.commandText)")
        case (.failure(let error)?, _):
            throw CommandFailure(interruption ?? CommandStatus(error), "\(problem): \(error.commandText)")
        case (nil, nil): throw CommandFailure(interruption ?? .unavailable, problem)
        }
    }
}

extension MQTTPublisher {
    /// Performs an operation while the publisher runs. Afterwards, the publisher may use its stop timeout to publish
    /// the messages that are still queued.
    ///
    /// - Parameters:
    ///   - timeout: The time limit for the operation, or `nil` for no limit.
    ///   - work: The operation to perform. A signal cancels it, and the closure must then return.
    func run<Value: Sendable>(
        timeout: Duration?,
        _ work: @escaping @Sendable () async throws(MQTTPublishError) -> Value
    ) async -> PublisherEnd<Value> {
        let signals = SignalWatch.begin()
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
