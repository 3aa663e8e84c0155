import SignalboxCore

/// Writes each action as one line, and returns when a line for stdout is out.
struct PrintPlugin: Plugin {
    let action: ActionName
    let target: PrintTarget

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let record = ActionRecord(body: info, context: context)
        switch target {
        case .output(let output):
            try await output.write(output.isTerminal ? record.terminalLine : record.jsonLine)
        case .diagnostics:
            DiagnosticOutput.shared.offer(String(decoding: record.jsonLine, as: UTF8.self))
        }
    }
}
