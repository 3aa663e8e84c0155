/// For what ends by a time that must be enough for what comes before: how much is enough, the machine decides.
enum GrowingTime {
    /// Runs with more and more time, as `--timeout` takes it, until it was enough.
    ///
    /// - Returns: the last run, whether it had enough or not.
    static func run<Run>(_ body: (_ time: String) async throws -> Run, until isEnough: (Run) -> Bool) async throws
        -> Run
    {
        for time in ["2s", "10s"] {
            let run = try await body(time)
            if isEnough(run) { return run }
        }
        return try await body("60s")
    }
}
