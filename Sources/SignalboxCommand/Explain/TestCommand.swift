import ArgumentParser
import Logging

/// The command `signalbox test CONFIG`.
struct TestCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Runs the tests of a configuration: messages and URLs with their outcomes.",
        usage: "signalbox test [<options>] <config>",
        discussion: """
            Tests are written below 'tests' of the configuration, or in a file. The command connects to nothing, starts \
            nothing and reads no secret. Of the plugins it calls only reply, echo and fail: for any other, handled means \
            that the plugin would receive the message.

            EXAMPLES
              signalbox test examples/links/links.yaml
              signalbox test examples/links/links.yaml --format junit

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "test"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"),
        completion: .configuration
    )
    var config: String

    @Option(
        help: ArgumentHelp("A YAML file with the tests; by default those of the configuration.", valueName: "path"),
        completion: .configuration
    )
    var tests: String?

    @Option(help: ArgumentHelp("Run only tests whose names contain the text.", valueName: "text"))
    var filter: String?

    @Option(help: "The form of the results; by default text on a terminal, else json.")
    var format: TestFormat?

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        try MixedArguments.validate(first: config)
    }

    func perform() async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(config, for: .test)
        let (all, file) = try tests(of: configuration)
        let chosen = filter.map { text in all.filter { $0.name.contains(text) } } ?? all
        guard !chosen.isEmpty else {
            throw CommandFailure(.usage, "\(file): --filter: the name of no test contains '\(filter ?? "")'")
        }
        let run = TestRun(configuration, file: config)
        var results: [TestResult] = []
        for test in chosen { results.append(try await run.result(of: test)) }
        let report = TestReport(file: file, results: results)
        let output = StandardOutput()
        try await output.write(report.bytes(as: format ?? (output.isTerminal ? .text : .json)))
        DiagnosticOutput.shared.report(summary(of: report), level: .info)
        return report.failures == 0 ? .done : .notAsExpected
    }

    /// Returns the tests, of which there is at least one, and the path of their file.
    private func tests(of configuration: RunConfiguration) throws -> ([ConfigurationTest], file: String) {
        let file = tests ?? configuration.testFile
        var found = configuration.tests
        if let file {
            let text = try ConfigurationFile.content(of: file)
            let (tests, problems) = ConfigurationReader.tests(text, file: file, of: configuration)
            guard let tests else { throw ConfigurationError(file: file, problems) }
            found = tests
        }
        guard !found.isEmpty else {
            let advice = "there are no tests; write some, such as \(ConfigurationTest.example)"
            throw CommandFailure(.invalidConfiguration, "\(file ?? config): \(advice)")
        }
        return (found, file ?? config)
    }

    private func summary(of report: TestReport) -> String {
        let count = report.results.count
        return "\(count) test\(count == 1 ? "" : "s"), \(report.failures) failed in \(report.file)"
    }
}
