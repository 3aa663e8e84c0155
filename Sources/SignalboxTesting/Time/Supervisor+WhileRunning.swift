public import Signalbox

extension Supervisor {
    /// Runs the supervisor while `body` works, then shuts it down gracefully and waits for its end.
    ///
    /// When `body` throws, the supervisor is stopped at once. A supervisor runs once.
    ///
    /// - Returns: what `body` returned.
    /// - Throws: what `body` throws; else what ``Signalbox/Supervisor/run()`` throws, such as an adapter's error.
    public func whileRunning<Result>(_ body: () async throws -> Result) async throws -> Result {
        async let running: Void = run()
        let result = try await body()
        shutDown()
        try await running
        return result
    }
}
