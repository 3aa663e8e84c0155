import Logging

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
