/// A wait that ends: with a result, with its time, or with its task.
enum PublishWait {
    typealias Waiter<Value> = CheckedContinuation<Result<Value, MQTTPublishError>, Never>

    /// - Parameters:
    ///   - limit: from now.
    ///   - giveUp: makes sure that the waiter hears something; called with `timeout` or `cancelled`, perhaps several times,
    ///     also when there is a result already.
    ///   - begin: keeps the waiter, or resumes it.
    static func result<Value: Sendable>(
        limit: Duration,
        giveUp: @escaping @Sendable (MQTTPublishError.Code) -> Void,
        begin: @Sendable (Waiter<Value>) -> Void
    ) async -> Result<Value, MQTTPublishError> {
        let deadline = ContinuousClock.now + limit
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                if !Task.isCancelled { giveUp(.timeout) }
            }
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    begin(waiter)
                    // What ended the wait before it began met nobody to tell.
                    if Task.isCancelled { giveUp(.cancelled) }
                    if .now >= deadline { giveUp(.timeout) }
                }
            } onCancel: {
                giveUp(.cancelled)
            }
            group.cancelAll()
            return result
        }
    }
}
