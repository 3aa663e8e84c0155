import Logging

/// A problem in a configuration file: its position, its key and the correction.
struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, counted from 1.
    let line: Int
    /// The column, counted from 1 in Unicode scalars.
    let column: Int
    /// The key path, such as `sources.push.mqtt.topics[0].pattern`; empty if the problem concerns the whole file.
    let path: String
    /// Whether the problem prevents the configuration from running.
    var severity = ProblemSeverity.error
    /// The kind of problem.
    let code: ProblemCode
    /// What is wrong and how to correct it. Contains no secret.
    let message: String
    /// The replacement text alone, if it is known.
    var suggestion: String?

    /// `line:column: path: message`, with control characters escaped.
    var description: String {
        let prefix = path.isEmpty ? "" : "\(path): "
        return "\(line):\(column): " + LineEscape.escaped(prefix + message)
    }
}

extension ConfigurationProblem {
    /// Returns the metadata of a log line about the problem.
    func metadata(in file: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "at": "\(file):\(line):\(column)", "code": "\(code.rawValue)", "problem": "\(message)",
        ]
        if !path.isEmpty { metadata["key"] = "\(path)" }
        return metadata
    }
}

/// Collects the problems of one file while it is read, so that all of them are reported together.
final class ConfigurationProblems {
    private var found: [ConfigurationProblem] = []
    /// The keys that the reader has asked for, by the name of their mapping, for tests.
    private(set) var known: [String: [String]] = [:]

    /// Adds a problem.
    func add(_ problem: ConfigurationProblem) {
        found.append(problem)
    }

    /// Notes the keys of a mapping.
    ///
    /// - Returns: Whether they are those of the mappings of the same name before it.
    func note(_ keys: [String], of mapping: String) -> Bool {
        let before = known.updateValue(keys, forKey: mapping)
        return before.map { Set($0) == Set(keys) } ?? true
    }

    /// Returns whether an error exists below one of the keys or for the whole file. Missing files do not count.
    func hasErrors(below keys: [String]) -> Bool {
        found.contains { problem in
            guard problem.severity == .error, problem.code != .missingFile else { return false }
            return problem.path.isEmpty || keys.contains { problem.path.hasPrefix($0) }
        }
    }

    /// The errors and warnings, in file order.
    var sorted: [ConfigurationProblem] {
        found.sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }

    /// The errors, in file order.
    var errors: [ConfigurationProblem] { sorted.filter { $0.severity == .error } }
}

/// Whether a finding prevents a configuration from running.
enum ProblemSeverity: String, Sendable, Hashable {
    /// The configuration cannot run.
    case error
    /// The configuration can run but probably does not do what its author intended.
    case warning
}

/// The kind of a finding: a stable code for programs. docs/command.md lists all codes.
enum ProblemCode: String, Sendable, Hashable, CaseIterable {
    // Errors of the file.
    case unreadableFile
    case notYAML
    case duplicateKey
    case unknownKey
    case missingKey
    // Errors in a value.
    case invalidValue
    case badName
    case badPattern
    case conflictingKeys
    case renamedKey
    case secretInFile
    case unknownSource
    case duplicateAction
    // Missing variables and files.
    case missingVariable
    case missingFile
    // Valid settings that have no effect or conflict with each other.
    case shadowedRoute
    case sourceWithoutRule
    case unreachablePlugin
    case emptyRule
    case actionWithoutPlugin
    case ackDeadlineExceeded
    case receiveMaximum
    case publishLoop
    // Servers that no client can reach, or that unintended peers can.
    case nobodyCanConnect
    case uncheckedCertificate
    case tokenInURL
    case openAddress
    // Secrets that other users can read.
    case credentialsInClear
    case readableSecret

    /// The message with which `run` logs the finding too, or `nil` if only `check` reports it.
    var logMessage: String? {
        switch self {
        case .credentialsInClear, .readableSecret: "secret exposed"
        case .renamedKey: "configuration key renamed"
        default: nil
        }
    }
}

/// All errors found in a configuration file, in line order.
struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The file name as given by the user.
    let file: String
    /// The errors; at least one.
    let problems: [ConfigurationProblem]

    /// One line per error, each with the prefix `file:line:column:` that editors and compilers use.
    var description: String {
        problems.map { "\(LineEscape.escaped(file)):\($0)" }.joined(separator: "\n")
    }
}
