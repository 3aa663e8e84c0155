import SignalboxCore

/// A ``FilePlugin`` that is called for each action by itself, where actions are ordered by a key. Calls that wait at the
/// same time still share an fsync.
struct FileLinePlugin: Plugin {
    let file: FilePlugin

    var action: ActionName { file.action }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        try await file.callAsActions([(info, context)])
    }
}
