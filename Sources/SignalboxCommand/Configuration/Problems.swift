import Logging
import Signalbox
import Yams

/// One mistake in a configuration file: where it is, which key it is about, what was expected.
struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// Counted from 1.
    let line: Int
    /// Counted from 1, in Unicode scalars.
    let column: Int
    /// The key path, such as `sources.push.mqtt.topics[0].pattern`; empty when the whole file is meant.
    let path: String
    /// Whether the configuration can be run all the same.
    var severity = ProblemSeverity.error
    /// What kind of mistake it is.
    let code: ProblemCode
    /// What is wrong and what to write instead. Never a secret.
    let message: String
    /// What to write instead, alone, where that is known.
    var suggestion: String?

    /// `line:column: path: message`, control characters escaped.
    var description: String {
        let place = path.isEmpty ? "" : "\(path): "
        return "\(line):\(column): " + LineEscape.escaped(place + message)
    }
}

extension ConfigurationProblem {
    /// The metadata of a log line about the problem.
    func metadata(in file: String) -> Logger.Metadata {
        ["at": "\(file):\(line):\(column)", "key": "\(path)", "code": "\(code.rawValue)", "problem": "\(message)"]
    }
}

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

/// Whether a finding keeps a configuration from being run.
enum ProblemSeverity: String, Sendable, Hashable {
    /// It does.
    case error
    /// It does not, and what was meant will probably not happen.
    case warning
}

/// What kind of mistake or doubt a finding is: a word that stays the same, for programs. docs/command.md lists all.
enum ProblemCode: String, Sendable, Hashable, CaseIterable {
    // The file.
    case unreadableFile
    case notYAML
    case duplicateKey
    case unknownKey
    case missingKey
    // What is written.
    case invalidValue
    case badName
    case badPattern
    case conflictingKeys
    case secretInFile
    case unknownSource
    case duplicateAction
    // What is named and not there.
    case missingVariable
    case missingFile
    // What is right by itself and comes to nothing.
    case shadowedRoute
    case sourceWithoutRule
    case unreachablePlugin
    case emptyRule
    case actionWithoutPlugin
    case holdLimitExceeded
    case receiveMaximum
    case publishLoop
    // What lets in whom nobody meant, or nobody.
    case nobodyCanConnect
    case uncheckedCertificate
    case tokenInURL
    case openAddress
    // Secrets that others can read.
    case credentialsInClear
    case readableSecret

    /// Whether `run` logs it too.
    var isExposure: Bool { self == .credentialsInClear || self == .readableSecret }
}

/// All mistakes found in a configuration file, in the order of their lines.
struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The file as the user named it.
    let file: String
    /// At least one.
    let problems: [ConfigurationProblem]

    /// One line per mistake, each beginning with `file:line:column:`, as editors and compilers write it.
    var description: String {
        problems.map { "\(LineEscape.escaped(file)):\($0)" }.joined(separator: "\n")
    }
}
