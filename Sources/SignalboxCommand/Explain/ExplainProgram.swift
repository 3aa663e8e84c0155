/// One message or link explained, from its bytes to the exit status.
enum ExplainProgram {
    /// Explains it, and says whether its plugin would be called. Its diagnostics are out when it returns.
    static func status(of request: ExplainRequest) async -> CommandStatus {
        do {
            let line = try await line(for: request)
            let output = StandardOutput()
            try await output.write(output.isTerminal ? line.terminalLines : line.jsonLine)
            await DiagnosticOutput.shared.flush()
            return line.isCalled ? .done : .notAsExpected
        } catch let failure as OutputFailure {
            return await CommandRefusal(.outputFailed, "\(failure)").told()
        } catch {
            return await CommandRefusal(error).told()
        }
    }

    private static func line(for request: ExplainRequest) async throws -> ExplanationLine {
        let configuration = try ConfigurationFile.read(request.config, for: .plugins)
        let explainer = ConfigurationExplainer(configuration, file: request.config)
        switch request.subject {
        case .message(let input, let facts):
            let source = try explainer.source(request.source)
            return try explainer.line(about: try await input.bytes(), facts, of: source)
        case .link(let input): return try await explainer.line(about: try await input.link(), of: request.source)
        }
    }
}
