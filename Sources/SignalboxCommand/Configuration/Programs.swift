/// The settings of a plugin that runs a program for each action.
struct ExecSection: Sendable, Hashable {
    /// What the program writes to its stdout.
    enum Output: String, Sendable, Hashable, CaseIterable {
        /// One JSON value, which becomes the reply, or nothing.
        case json
        /// Text, which becomes the reply without the line break at its end.
        case text
        /// Nothing that matters.
        case none
    }

    /// The default of ``maximumOutput``.
    static let standardMaximumOutput = 1 << 20

    /// The path of the program, or its name, which is looked up in `PATH`.
    let program: String
    /// The arguments, without the program's name.
    var arguments: [String] = []
    /// The variables of the environment that the program receives. It receives no others, apart from `PATH` and those about the
    /// action.
    var environment: [String] = []
    /// What the program writes to its stdout.
    var output = Output.json
    /// The maximum size of its output, in bytes.
    var maximumOutput = ExecSection.standardMaximumOutput
}
