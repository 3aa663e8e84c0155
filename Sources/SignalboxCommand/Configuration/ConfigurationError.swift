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
