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
    /// The exact text that should replace the faulty key or value, or `nil` if it is not known.
    var suggestion: String?
    /// What to write, in words, or `nil` if the message says it all.
    var advice: String?

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

extension ConfigurationProblem {
    /// The maximum number of bytes of the path, the suggestion and the advice.
    private static let (pathLimit, suggestionLimit, adviceLimit) = (200, 100, 160)
    /// The maximum number of bytes of all texts together. With its position and code, a finding is shorter than 1 KB.
    private static let textLimit = 850

    /// The problem with its texts cut to their limits, however long the texts that it quotes are. A suggestion that is
    /// too long is left out, because a part of it cannot replace anything.
    fileprivate var bounded: ConfigurationProblem {
        let path = LineEscape.beginning(of: path, bytes: ConfigurationProblem.pathLimit)
        let advice = advice.map { LineEscape.beginning(of: $0, bytes: ConfigurationProblem.adviceLimit) }
        let suggestion = suggestion.flatMap { text in
            LineEscape.beginning(of: text, bytes: ConfigurationProblem.suggestionLimit) == text ? text : nil
        }
        let used = [path, advice ?? "", suggestion ?? ""].reduce(0) { $0 + LineEscape.cost(of: $1) }
        return ConfigurationProblem(
            line: line,
            column: column,
            path: path,
            severity: severity,
            code: code,
            message: LineEscape.beginning(of: message, bytes: ConfigurationProblem.textLimit - used),
            suggestion: suggestion,
            advice: advice
        )
    }
}

/// Collects the problems while a file is read, so that they are reported together.
///
/// At most ``maximum`` errors and as many warnings are kept. All others are only counted, so that a file with very many
/// mistakes costs no more than reading it.
final class ConfigurationProblems {
    /// The maximum number of findings that are reported.
    static let maximum = 100

    private var kept: [ProblemSeverity: [ConfigurationProblem]] = [:]
    private var counts: [ProblemSeverity: Int] = [:]
    /// The number of errors in what the file says. A missing file or variable is not counted, because it says nothing
    /// about the configuration.
    private(set) var mistakes = 0
    /// The keys that the reader has looked up, by the name of the mapping that contains them. Only tests read this
    /// property.
    private(set) var known: [String: [String]] = [:]

    /// Counts a problem and keeps it if there is room.
    ///
    /// - Parameter make: Returns the problem. It is only called if there is room.
    func add(_ code: ProblemCode, _ severity: ProblemSeverity, _ make: () -> ConfigurationProblem) {
        counts[severity, default: 0] += 1
        if severity == .error, code != .missingFile, code != .missingVariable { mistakes += 1 }
        guard kept[severity, default: []].count < ConfigurationProblems.maximum else { return }
        kept[severity, default: []].append(make().bounded)
    }

    /// Records the keys of a mapping.
    ///
    /// - Returns: Whether the keys are the same as in earlier mappings with this name.
    func note(_ keys: [String], of mapping: String) -> Bool {
        let before = known.updateValue(keys, forKey: mapping)
        return before.map { Set($0) == Set(keys) } ?? true
    }

    /// Returns how many problems there are, whether they are kept or not.
    func count(_ severity: ProblemSeverity) -> Int { counts[severity, default: 0] }

    /// The kept errors and warnings, sorted by their positions in the file. If there are more than ``maximum``,
    /// warnings are left out before errors.
    var sorted: [ConfigurationProblem] {
        let (errors, warnings) = (kept[.error, default: []], kept[.warning, default: []])
        return ConfigurationProblems.sorted(
            errors + warnings.prefix(max(0, ConfigurationProblems.maximum - errors.count))
        )
    }

    /// The kept errors, sorted by their positions in the file.
    var errors: [ConfigurationProblem] { ConfigurationProblems.sorted(kept[.error, default: []]) }

    /// The kept warnings that `run` logs, sorted by their positions in the file.
    var logged: [ConfigurationProblem] {
        ConfigurationProblems.sorted(kept[.warning, default: []].filter { $0.code.logMessage != nil })
    }

    private static func sorted(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        problems.sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }
}

/// How severe a finding is. This decides whether the configuration can run.
enum ProblemSeverity: String, Sendable, Hashable {
    /// The configuration cannot run.
    case error
    /// The configuration can run, but it probably does not do what its author intended.
    case warning
}

/// The kind of a finding. Programs can rely on these codes, because they do not change. docs/commands/check.md lists all
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
    case badExpression
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
    case pageWithoutScripts
    case originOfScripts
    case deadLetterRoute
    case sharedID
    case unreachablePlugin
    case unreachableStep
    case emptyRule
    case declinedPayload
    case actionWithoutPlugin
    case tagWithoutConnection
    case actionCapture
    case ackDeadlineExceeded
    case receiveMaximum
    case furtherConnections
    case publishLoop
    case repeatedBroadcast
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

/// The result of checking a configuration file.
struct ConfigurationFindings {
    /// The configuration, or `nil` if it has errors.
    var configuration: RunConfiguration?
    /// The errors and warnings, sorted by line. There are at most ``ConfigurationProblems/maximum``.
    let findings: [ConfigurationProblem]
    /// The number of errors, including those that ``findings`` leaves out.
    let errors: Int
    /// The number of warnings, including those that ``findings`` leaves out.
    let warnings: Int

    /// The number of errors and warnings that ``findings`` leaves out.
    var omitted: Int { errors + warnings - findings.count }
}

/// The errors in a configuration file, sorted by line.
struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The path of the file as the user gave it.
    let file: String
    /// The errors. There are 1 to ``ConfigurationProblems/maximum``.
    let problems: [ConfigurationProblem]
    /// The number of errors that ``problems`` leaves out.
    var omitted = 0

    /// Creates the error for a file from the errors that its reader found.
    init(file: String, _ problems: ConfigurationProblems) {
        self.file = file
        self.problems = problems.errors
        omitted = problems.count(.error) - self.problems.count
    }

    /// The errors, one per line. Each line starts with `file:line:column:`. Compilers use this format, so editors can
    /// parse it. If errors are left out, the last line counts them.
    var description: String {
        let name = LineEscape.escaped(file)
        let rest = omitted > 0 ? ["\(name): \(omitted) more errors are not shown; correct these first"] : []
        return (problems.map { "\(name):\($0) [\($0.code.rawValue)]" } + rest).joined(separator: "\n")
    }
}
