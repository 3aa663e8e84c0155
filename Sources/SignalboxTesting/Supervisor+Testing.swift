public import Signalbox

extension Supervisor {
    /// Runs the supervisor during `body`, then shuts it down gracefully and waits until it ends.
    ///
    /// If `body` throws, the supervisor stops immediately. A supervisor runs only once.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: `RegistrationError.closed` if the supervisor runs or has run, in which case `body` is not called; any
    ///   error of `body`; otherwise any error of ``Signalbox/Supervisor/run()``, such as an adapter's error.
    public func whileRunning<Result>(_ body: () async throws -> Result) async throws -> Result {
        // Fails before `body` starts: a refused run would leave `body` waiting for messages that no supervisor takes.
        let adapters = try open()
        async let running: Void = run(adapters)
        let result = try await body()
        shutDown()
        try await running
        return result
    }
}
