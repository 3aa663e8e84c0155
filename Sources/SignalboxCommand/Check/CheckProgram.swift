/// Configurations looked at, from the first to the exit status.
struct CheckProgram {
    /// Their paths.
    let files: [String]
    /// Whether findings are written for programs.
    let writesJSON: Bool
    /// Whether warnings count as errors.
    let isStrict: Bool

    /// Tells all findings, and says how it went. Its diagnostics are out when it returns.
    func status() async -> CommandStatus {
        let output = StandardOutput()
        let findings = files.flatMap(CheckProgram.findings)
        for finding in findings {
            // The failure of an earlier line is told at the end.
            try? await output.write(writesJSON ? finding.jsonLine : finding.line)
        }
        let lost = await output.finish()
        if let lost { DiagnosticOutput.shared.tell("\(lost)") }
        DiagnosticOutput.shared.tell(summary(of: findings))
        await DiagnosticOutput.shared.flush()
        if lost != nil { return .outputFailed }
        if findings.contains(where: { $0.problem.code == .unreadableFile }) { return .unreadableFile }
        let isBad = findings.contains { isStrict || $0.problem.severity == .error }
        return isBad ? .invalidConfiguration : .done
    }

    private static func findings(in file: String) -> [CheckFinding] {
        do throws(CommandRefusal) {
            let text = try ConfigurationFile.content(of: file)
            return ConfigurationReader.findings(in: text).map { CheckFinding(file: file, problem: $0) }
        } catch {
            // The refusal begins with the file, which the finding has a place for.
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
