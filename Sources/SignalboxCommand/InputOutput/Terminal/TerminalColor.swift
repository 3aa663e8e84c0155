import NavigationChain
import SignalboxCore

/// The colour of the word that says how something ended. Only aligned text on a terminal has colours; JSON, files and
/// received payloads never do.
enum TerminalColor: String, CaseIterable {
    /// It succeeded.
    case green = "32"
    /// It failed or was refused.
    case red = "31"
    /// It may succeed later, or deserves attention.
    case yellow = "33"

    /// Whether this process colours its stdout.
    static let isOn = isOn(
        isTerminal: OutputDescriptor.standardOutput.isTerminal,
        environment: Environment.variables(["NO_COLOR", "TERM"])
    )

    /// Whether to colour an output. A user turns colours off with a variable `NO_COLOR` that is not empty
    /// (https://no-color.org). The terminal `dumb` has none.
    static func isOn(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// Returns the word in this colour. The word must be without padding, so that only it is coloured.
    func applied(to word: String, isOn: Bool = TerminalColor.isOn) -> String {
        isOn ? "\u{1B}[\(rawValue)m\(word)\u{1B}[0m" : word
    }
}

extension TerminalColor {
    /// The colour for an outcome.
    init(_ outcome: Outcome) {
        switch outcome {
        case .handled: self = .green
        case .rejected, .failed: self = .red
        case .abandoned: self = .yellow
        }
    }

    /// The colour for the decision about a navigation.
    init(_ policy: NavigationPolicy) {
        switch policy {
        case .allow: self = .green
        case .cancel: self = .red
        case .download: self = .yellow
        }
    }

    /// The colour for a finding in a configuration.
    init(_ severity: ProblemSeverity) {
        self = severity == .error ? .red : .yellow
    }
}
