import ArgumentParser

/// The options for the form of the diagnostics on stderr. Every command has them.
struct DiagnosticArguments: ParsableArguments {
    @Option(help: "The form of the lines on stderr: text, or one JSON object per line.")
    var logFormat = DiagnosticFormat.text

    @Flag(help: "Write nothing to stderr but errors of the arguments; the exit status says the rest.")
    var quiet = false
}

/// The form of the lines on stderr.
enum DiagnosticFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text
    case json
}

/// A command with ``DiagnosticArguments``, which the program applies before it runs the command.
protocol DiagnosingCommand: AsyncParsableCommand {
    var diagnostics: DiagnosticArguments { get }
}
