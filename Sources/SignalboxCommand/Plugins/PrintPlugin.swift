import SignalboxCore

/// Writes each action as one line to stdout, and returns when the line is out.
struct PrintPlugin: Plugin {
    let action: ActionName
    let output: StandardOutput

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let record = ActionRecord(body: info, context: context)
        try await output.write(output.isTerminal ? record.terminalLine : record.jsonLine)
    }
}
