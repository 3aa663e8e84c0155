import ArgumentParser
import Logging
import SignalboxCore

/// The command `signalbox check CONFIG...`.
struct CheckCommand: DiagnosingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks configuration files for errors and likely mistakes. Starts nothing.",
        usage: "signalbox check [<options>] <config> ...",
        discussion: """
            The files and folders that a configuration names must exist. Variables and files of secrets are only read \
            with --with-secrets. Paths are relative to the folder of the configuration. One line per finding: \
            FILE:LINE:COLUMN: SEVERITY: KEY: MESSAGE [CODE]. docs/commands/check.md lists the codes.

            At most 100 findings per file are shown; the last line counts all. The member 'suggestion' of a JSON object \
            is the exact text to write instead of the key or value at that position; 'advice' says in words what to write.

            EXAMPLE
              signalbox check examples/links/links.yaml

            \(CommandStatus.help([.done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed], of: "check"))
            """
    )

    @Argument(
        help: ArgumentHelp("Configuration files (YAML).", valueName: "config"),
        completion: .configuration
    )
    var files: [String]

    @Flag(help: "One JSON object per finding: file, line, column, path, severity, code, message, suggestion, advice.")
    var json = false

    @Flag(help: "Also read the variables and files that hold secrets; what is missing is an error.")
    var withSecrets = false

    @Flag(help: "For the exit status, warnings count as errors.")
    var strict = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func run() async throws {
        let output = StandardOutput()
        let found = files.flatMap(findings)
        for (file, result) in found {
            for problem in result.findings {
                // If this write fails, the call of `finish()` below reports it.
                try? await output.write(json ? problem.jsonLine(in: file) : problem.line(in: file))
            }
        }
        let lost = await output.finish()
        if let lost { DiagnosticOutput.shared.report("\(lost)") }
        for (file, result) in found where result.omitted > 0 {
            DiagnosticOutput.shared.report(
                "\(file): \(result.omitted) more findings are not shown; correct these first",
                level: .warning
            )
        }
        let (errors, warnings) = (found.map(\.result.errors).reduce(0, +), found.map(\.result.warnings).reduce(0, +))
        DiagnosticOutput.shared.report(summary(errors: errors, warnings: warnings), level: .info)
        await DiagnosticOutput.shared.flush()
        if lost != nil { throw CommandStatus.outputFailed.code }
        if found.flatMap(\.result.findings).contains(where: { $0.code == .unreadableFile }) {
            throw CommandStatus.unreadableFile.code
        }
        let isBad = errors > 0 || strict && warnings > 0
        throw (isBad ? CommandStatus.invalidConfiguration : .done).code
    }

    /// Returns the findings in a configuration and, if it has no errors, those in its file of tests.
    private func findings(in file: String) -> [(file: String, result: ConfigurationFindings)] {
        let found = findings(in: file) { ConfigurationReader.lint($0, file: file, readsSecrets: withSecrets) }
        guard let configuration = found.configuration, let tests = configuration.testFile else {
            return [(file, found)]
        }
        let ofTests = findings(in: tests) { text in
            let problems = ConfigurationReader.tests(text, file: tests, of: configuration).problems
            return ConfigurationFindings(
                findings: problems.sorted,
                errors: problems.count(.error),
                warnings: problems.count(.warning)
            )
        }
        return [(file, found), (tests, ofTests)]
    }

    private func findings(in file: String, _ lint: (String) -> ConfigurationFindings) -> ConfigurationFindings {
        do throws(CommandFailure) {
            return lint(try ConfigurationFile.content(of: file))
        } catch {
            // The description starts with the file's path, which is already on the line.
            let message = String(error.description.dropFirst("\(file): ".count))
            let code: ProblemCode = error.status == .unreadableFile ? .unreadableFile : .notYAML
            let problem = ConfigurationProblem(line: 1, column: 1, path: "", code: code, message: message)
            return ConfigurationFindings(findings: [problem], errors: 1, warnings: 0)
        }
    }

    private func summary(errors: Int, warnings: Int) -> String {
        let counts = [(errors, "error"), (warnings, "warning"), (files.count, "file")].map {
            count,
            word in
            "\(count) \(word)\(count == 1 ? "" : "s")"
        }
        return "\(counts[0]), \(counts[1]) in \(counts[2])"
    }
}

extension ConfigurationProblem {
    /// Returns `FILE:LINE:COLUMN: SEVERITY: PATH: MESSAGE [CODE]` followed by a newline. Compilers use this format, so
    /// editors can parse it.
    ///
    /// - Parameter file: The path as the user gave it.
    fileprivate func line(in file: String) -> [UInt8] {
        let key = path.isEmpty ? "" : "\(path): "
        let place = LineEscape.escaped("\(file):\(line):\(column)")
        let kind = TerminalColor(severity).applied(to: severity.rawValue)
        let text = LineEscape.escaped("\(key)\(message)")
        return Array("\(place): \(kind): \(text) [\(code.rawValue)]\n".utf8)
    }

    /// Returns one JSON object followed by a newline. The members are `file`, `line`, `column`, `path`, `severity`,
    /// `code` and `message`, and if they are known, `suggestion` and `advice`.
    ///
    /// - Parameter file: The path as the user gave it.
    fileprivate func jsonLine(in file: String) -> [UInt8] {
        var object = JSONObject()
        object.add("file", RawArguments.shown(file))
        object.add("line", line)
        object.add("column", column)
        object.add("path", path)
        object.add("severity", severity.rawValue)
        object.add("code", code.rawValue)
        object.add("message", message)
        object.add("suggestion", suggestion)
        object.add("advice", advice)
        return object.line
    }
}
