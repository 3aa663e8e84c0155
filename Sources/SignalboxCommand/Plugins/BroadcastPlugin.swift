import Signalbox
import SignalboxCore
import WebSocketChat

/// Sends each action with its body to every connection that has a tag, and answers how many that were.
struct BroadcastPlugin: SyncPlugin {
    /// What the sender is told.
    struct Answer: Encodable, Sendable {
        let sent: Int
        let refused: Int
    }

    let action: ActionName
    let choice: TagChoice

    init(action: ActionName, tag: String?) {
        self.action = action
        choice = TagChoice(fixed: tag)
    }

    func callAsAction(_ info: RawBody, context: ActionContext) throws -> Answer {
        guard let connection = context.chat else { throw PluginDeclined.notByConnection }
        guard info.kind != .bytes else { throw PluginDeclined("bytes are no body of an envelope") }
        let report = connection.broadcast(action, context.action.body.json, to: try choice.tag(of: context))
        return Answer(sent: report.sent, refused: report.refused)
    }
}
