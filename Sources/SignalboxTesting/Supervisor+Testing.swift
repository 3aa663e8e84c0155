public import Signalbox

extension Supervisor {
    /// Runs the supervisor during `body`, then shuts it down gracefully and waits until it has ended.
    ///
    /// Use this method in tests that send messages through an ``InMemoryAdapter``. If `body` throws an error, the
    /// supervisor stops immediately. A supervisor can run only once.
    ///
    /// - Returns: The result of `body`.
    /// - Throws:
    ///   - `RegistrationError.closed` if the supervisor is running or has run before, in which case `body` is not
    ///     called.
    ///   - Otherwise, any error from `body` or from ``Signalbox/Supervisor/run()``, such as an adapter's error.
    public func whileRunning<Result>(_ body: () async throws -> Result) async throws -> Result {
        // The supervisor is opened before `body` starts. If it turned out later that the supervisor cannot run, `body`
        // would wait for messages that nothing takes.
        let adapters = try open()
        async let running: Void = run(adapters)
        let result = try await body()
        shutDown()
        try await running
        return result
    }
}
