/// What one run of one case came to.
struct ConformanceVerdict: Sendable {
    var findings: [ConformanceFinding] = []
    /// Why the case does not apply, when it does not.
    var skipped: String?
}
