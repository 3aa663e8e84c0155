import Logging
import Signalbox
import SignalboxCore

/// Writes each action as one log line.
struct LogPlugin: SyncPlugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) {
        let body = ActionRecord(body: info, context: context).shownBody
        context.logger.info("action", metadata: [LogField.body.rawValue: "\(body)"])
    }
}
