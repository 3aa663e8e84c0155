import ArgumentParser

/// `signalbox check CONFIG...`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Tells every mistake of configurations, and what is doubtful in them. Nothing is started.",
        discussion: """
            What a configuration names - variables, scripts, folders - must be there. One line per finding: \
            FILE:LINE:COLUMN: error or warning: KEY: what is wrong, and its code in brackets. docs/command.md \
            lists the codes.

            EXAMPLE
              signalbox check examples/links/links.yaml

            \(CommandStatus.help([.done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed]))
            """
    )

    @Argument(help: ArgumentHelp("Configurations, YAML files.", valueName: "config"))
    var files: [String]

    @Flag(help: "One JSON object per finding: file, line, column, path, severity, code, message, suggestion.")
    var json = false

    @Flag(help: "Warnings count as errors for the exit status.")
    var strict = false

    func run() async throws {
        throw await CheckProgram(files: files, writesJSON: json, isStrict: strict).status().code
    }
}
