import Logging
import SignalboxCore

/// Writes each action as one log line.
struct LogPlugin: SyncPlugin {
    let action: ActionName
    let logger: Logger

    func callAsAction(_ info: RawBody, context: ActionContext) {
        let metadata: Logger.Metadata = [
            "source": "\(context.origin.source)", "action": "\(action)", "id": "\(context.id)",
            "body": "\(ActionRecord(body: info, context: context).shownBody)",
        ]
        logger.info("action", metadata: metadata)
    }
}
