import ArgumentParser
import SignalboxCore

/// `signalbox check CONFIG...`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks configuration files for errors and likely mistakes. Starts nothing.",
        discussion: """
            The variables, files and folders that a configuration names must exist. One line per finding: \
            FILE:LINE:COLUMN: SEVERITY: KEY: MESSAGE [CODE]. docs/command.md lists the codes.

            EXAMPLE
              signalbox check examples/links/links.yaml

            \(CommandStatus.help([.done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed]))
            """
    )

    @Argument(help: ArgumentHelp("Configuration files (YAML).", valueName: "config"))
    var files: [String]

    @Flag(help: "One JSON object per finding: file, line, column, path, severity, code, message, suggestion.")
    var json = false

    @Flag(help: "For the exit status, warnings count as errors.")
    var strict = false

    func run() async throws {
        throw await CheckProgram(files: files, writesJSON: json, isStrict: strict).status().code
    }
}

/// The `check` command, from the first file to the exit status.
struct CheckProgram {
    /// The paths of the configurations.
    let files: [String]
    /// Whether findings are written as JSON.
    let writesJSON: Bool
    /// Whether warnings count as errors.
    let isStrict: Bool

    /// Prints all findings and returns the exit status. All diagnostics are written when it returns.
    func status() async -> CommandStatus {
        let output = StandardOutput()
        let findings = files.flatMap(CheckProgram.findings)
        for finding in findings {
            // The call of `finish()` below reports a failed write.
            try? await output.write(writesJSON ? finding.jsonLine : finding.line)
        }
        let lost = await output.finish()
        if let lost { DiagnosticOutput.shared.report("\(lost)") }
        DiagnosticOutput.shared.report(summary(of: findings))
        await DiagnosticOutput.shared.flush()
        if lost != nil { return .outputFailed }
        if findings.contains(where: { $0.problem.code == .unreadableFile }) { return .unreadableFile }
        let isBad = findings.contains { isStrict || $0.problem.severity == .error }
        return isBad ? .invalidConfiguration : .done
    }

    private static func findings(in file: String) -> [CheckFinding] {
        do throws(CommandFailure) {
            let text = try ConfigurationFile.content(of: file)
            return ConfigurationReader.findings(in: text).map { CheckFinding(file: file, problem: $0) }
        } catch {
            // The refusal starts with the file's path, which the finding stores separately.
            let message = String(error.description.dropFirst("\(file): ".count))
            let code: ProblemCode = error.status == .unreadableFile ? .unreadableFile : .notYAML
            let problem = ConfigurationProblem(line: 1, column: 1, path: "", code: code, message: message)
            return [CheckFinding(file: file, problem: problem)]
        }
    }

    private func summary(of findings: [CheckFinding]) -> String {
        let errors = findings.count { $0.problem.severity == .error }
        let counts = [(errors, "error"), (findings.count - errors, "warning"), (files.count, "file")].map {
            count,
            word in
            "\(count) \(word)\(count == 1 ? "" : "s")"
        }
        return "\(counts[0]), \(counts[1]) in \(counts[2])"
    }
}

/// An error or warning, and the file that contains it.
struct CheckFinding: Sendable, Hashable {
    /// The path as the user gave it.
    let file: String
    let problem: ConfigurationProblem

    /// `FILE:LINE:COLUMN: SEVERITY: PATH: MESSAGE [CODE]` with a newline: the format of compilers, which editors parse.
    var line: [UInt8] {
        let prefix = "\(file):\(problem.line):\(problem.column): \(problem.severity.rawValue): "
        let path = problem.path.isEmpty ? "" : "\(problem.path): "
        return Array((LineEscape.escaped("\(prefix)\(path)\(problem.message)") + " [\(problem.code.rawValue)]\n").utf8)
    }

    /// One JSON object with a newline: `file`, `line`, `column`, `path`, `severity`, `code`, `message`, `suggestion`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        object.add("file", file)
        object.add("line", problem.line)
        object.add("column", problem.column)
        object.add("path", problem.path)
        object.add("severity", problem.severity.rawValue)
        object.add("code", problem.code.rawValue)
        object.add("message", problem.message)
        object.add("suggestion", problem.suggestion)
        return object.line
    }
}
