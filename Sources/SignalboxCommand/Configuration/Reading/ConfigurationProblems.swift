import Signalbox
import Yams

/// Collects the mistakes of one file while it is read, so that all are told at once.
final class ConfigurationProblems {
    private var found: [ConfigurationProblem] = []
    private var masks: Set<String> = []

    /// Notes a mistake. What the file says may be repeated in it, but for secrets: they are taken out by their form.
    ///
    /// - Parameters:
    ///   - suggestion: what to write instead, alone, where that is known.
    func add(
        _ message: String,
        _ code: ProblemCode,
        severity: ProblemSeverity = .error,
        at mark: Mark?,
        path: String,
        suggestion: String? = nil
    ) {
        add(
            ConfigurationProblem(
                line: mark?.line ?? 1,
                column: mark?.column ?? 1,
                path: Redaction.redacted(path),
                severity: severity,
                code: code,
                message: Redaction.redacted(message),
                suggestion: suggestion
            )
        )
    }

    /// Notes a mistake.
    func add(_ problem: ConfigurationProblem) {
        found.append(problem)
    }

    /// Leaves a key out that was told of as written twice, and that now has this name.
    func mask(_ key: String) {
        masks.insert(key)
    }

    /// Whether a key is left out.
    func isMasked(_ key: String) -> Bool { masks.contains(key) }

    /// Whether something is written wrong below one of these keys, or in the whole file. A file that is named and not there
    /// does not count.
    func hasErrors(below keys: [String]) -> Bool {
        found.contains { problem in
            guard problem.severity == .error, problem.code != .missingFile else { return false }
            return problem.path.isEmpty || keys.contains { problem.path.hasPrefix($0) }
        }
    }

    /// The mistakes and doubts in the order of their places.
    var sorted: [ConfigurationProblem] {
        found.sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }
}
