import Yams

/// Collects the mistakes of one file while it is read, so that all are told at once.
final class ConfigurationProblems {
    private var found: [ConfigurationProblem] = []

    /// Notes a mistake.
    func add(_ message: String, at mark: Mark?, path: String) {
        found.append(
            ConfigurationProblem(line: mark?.line ?? 1, column: mark?.column ?? 1, path: path, message: message)
        )
    }

    /// The mistakes in the order of their places.
    var sorted: [ConfigurationProblem] {
        found.sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }
}
