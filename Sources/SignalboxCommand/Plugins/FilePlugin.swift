import SignalboxCore

/// Appends each action as one line to a file, and returns when the line is durable: not before is the message
/// acknowledged.
struct FilePlugin: Plugin {
    let action: ActionName
    let ledger: Ledger

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        try await ledger.append(ActionRecord(body: info, context: context).jsonLine)
    }
}
