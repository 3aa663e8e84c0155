import Logging

/// A problem in a configuration file, including where it is and how to correct it.
struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, counted from 1.
    let line: Int
    /// The column, counted from 1 in Unicode scalars.
    let column: Int
    /// The key path, such as `sources.push.mqtt.topics[0].pattern`. The path is empty if the problem concerns the whole
    /// file.
    let path: String
    /// Whether the problem prevents the configuration from running.
    var severity = ProblemSeverity.error
    /// The kind of problem.
    let code: ProblemCode
    /// Says what is wrong and how to correct it. The message never contains a secret.
    let message: String
    /// The exact text that should replace the faulty text, or `nil` if it is not known.
    var suggestion: String?

    /// The problem as `line:column: path: message`, with control characters escaped.
    var description: String {
        let prefix = path.isEmpty ? "" : "\(path): "
        return "\(line):\(column): " + LineEscape.escaped(prefix + message)
    }
}

extension ConfigurationProblem {
    /// Returns the metadata for a log line about the problem.
    func metadata(in file: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "at": "\(file):\(line):\(column)", "code": "\(code.rawValue)", "problem": "\(message)",
        ]
        if !path.isEmpty { metadata["key"] = "\(path)" }
        return metadata
    }
}

/// Collects the problems while a file is read, so that all of them are reported together.
final class ConfigurationProblems {
    private var found: [ConfigurationProblem] = []
    /// The keys that the reader has looked up, by the name of the mapping that contains them. Only tests read this
    /// property.
    private(set) var known: [String: [String]] = [:]

    /// Adds a problem.
    func add(_ problem: ConfigurationProblem) {
        found.append(problem)
    }

    /// Records the keys of a mapping.
    ///
    /// - Returns: Whether the keys are the same as in earlier mappings with this name.
    func note(_ keys: [String], of mapping: String) -> Bool {
        let before = known.updateValue(keys, forKey: mapping)
        return before.map { Set($0) == Set(keys) } ?? true
    }

    /// Returns whether there is an error that is below one of the keys or concerns the whole file. Missing files are
    /// not counted as errors.
    func hasErrors(below keys: [String]) -> Bool {
        found.contains { problem in
            guard problem.severity == .error, problem.code != .missingFile else { return false }
            return problem.path.isEmpty || keys.contains { problem.path.hasPrefix($0) }
        }
    }

    /// The errors and warnings, sorted by their positions in the file.
    var sorted: [ConfigurationProblem] {
        found.sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }

    /// The errors, sorted by their positions in the file.
    var errors: [ConfigurationProblem] { sorted.filter { $0.severity == .error } }
}

/// How severe a finding is. This decides whether the configuration can run.
enum ProblemSeverity: String, Sendable, Hashable {
    /// The configuration cannot run.
    case error
    /// The configuration can run, but it probably does not do what its author intended.
    case warning
}

/// The kind of a finding. Programs can rely on these codes, because they do not change. docs/command.md lists all
/// codes.
enum ProblemCode: String, Sendable, Hashable, CaseIterable {
    // Errors of the file.
    case unreadableFile
    case notYAML
    case duplicateKey
    case unknownKey
    case missingKey
    // Errors in a value of the file.
    case invalidValue
    case badName
    case badPattern
    case conflictingKeys
    case renamedKey
    case secretInFile
    case unknownSource
    case duplicateAction
    // Variables and files that are missing.
    case missingVariable
    case missingFile
    // Valid settings that have no effect or that conflict with each other.
    case shadowedRoute
    case sourceWithoutRule
    case unreachablePlugin
    case emptyRule
    case actionWithoutPlugin
    case ackDeadlineExceeded
    case receiveMaximum
    case publishLoop
    // Servers that no client can reach, or that unintended clients can reach.
    case nobodyCanConnect
    case uncheckedCertificate
    case tokenInURL
    case openAddress
    // Secrets that other users can read.
    case credentialsInClear
    case readableSecret

    /// The message that `run` logs for the finding, or `nil` if only `check` reports it.
    var logMessage: String? {
        switch self {
        case .credentialsInClear, .readableSecret: "secret exposed"
        case .renamedKey: "configuration key renamed"
        default: nil
        }
    }
}

/// All errors in a configuration file, sorted by line.
struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The path of the file as the user gave it.
    let file: String
    /// The errors. There is at least one.
    let problems: [ConfigurationProblem]

    /// The errors, one per line. Each line starts with `file:line:column:`. Compilers use this format, so editors can
    /// parse it.
    var description: String {
        problems.map { "\(LineEscape.escaped(file)):\($0)" }.joined(separator: "\n")
    }
}
