/// What the conformance suite says about an adapter.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The cases that ran and found nothing.
    public internal(set) var passed: [AdapterConformance.Case] = []
    /// The cases that do not apply to the subject or its adapter's features, and why.
    public internal(set) var skipped: [AdapterConformance.Case: String] = [:]
    /// What was found, in the order of the cases; empty when the adapter conforms.
    public internal(set) var findings: [ConformanceFinding] = []

    /// Whether nothing was found.
    public var isConforming: Bool { findings.isEmpty }

    /// One line per finding, after a line with the counts.
    public var description: String {
        let skips = skipped.map { "\($0.key) skipped: \($0.value)" }.sorted()
        let head = "\(passed.count) cases passed, \(skipped.count) skipped, \(findings.count) findings"
        return ([head] + skips + findings.map(\.description)).joined(separator: "\n")
    }
}
