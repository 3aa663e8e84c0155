/// A program and what it inherits.
struct ProgramCommand: Sendable, Hashable {
    /// The path of the program, or its name, which is looked up in `PATH`.
    let program: String
    /// The arguments, without the program's name.
    var arguments: [String] = []
    /// The variables of the environment that the program receives. It receives no others, apart from `PATH` and those about the
    /// action.
    var environment: [String] = []
    /// The folder that the program runs in, that of the configuration; or empty for the folder of this process.
    var folder = ""
}

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

    let command: ProgramCommand
    /// What the program writes to its stdout.
    var output = Output.json
    /// The maximum size of its output, in bytes.
    var maximumOutput = ExecSection.standardMaximumOutput
}

/// The settings of plugins whose actions go to processes that stay. Plugins with equal settings share the processes.
struct ProcessSection: Sendable, Hashable {
    let command: ProgramCommand
    /// The number of processes.
    var processes = 1
    /// The maximum size of a line that a process writes, in bytes.
    var maximumLine = ExecSection.standardMaximumOutput
    /// How long a process may be silent before it is asked for a sign of life, and then before it is ended; or `nil` to ask
    /// none.
    var heartbeat: Duration?
    /// How long a process may take until it has written its first line, for which the sources wait at the start; or `nil` for
    /// as long as it likes, while messages are received.
    var startLimit: Duration?
    /// The pause before a process that has ended starts again. It doubles up to ``longestDelay``.
    var firstDelay = Duration.milliseconds(100)
    /// The longest such pause.
    var longestDelay = Duration.seconds(30)
}
