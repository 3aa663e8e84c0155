import SignalboxCore

/// Appends each action as one line to a file, and returns when the lines are durable: not before are the messages
/// acknowledged. The actions of a batch go to the disk with one fsync.
struct FilePlugin: BatchPlugin {
    let action: ActionName
    let ledger: Ledger

    func callAsActions(_ batch: [(info: RawBody, context: ActionContext)]) async throws {
        var lines: [UInt8] = []
        for (info, context) in batch { lines += ActionRecord(body: info, context: context).jsonLine }
        try await ledger.append(lines)
    }
}
