import Signalbox
import SignalboxCore
import WebSocketChat

/// Gives the connection that an action came by a tag, or takes it away.
struct TagPlugin: SyncPlugin {
    let action: ActionName
    let choice: TagChoice
    let joins: Bool

    init(action: ActionName, tag: String?, joins: Bool) {
        self.action = action
        choice = TagChoice(fixed: tag)
        self.joins = joins
    }

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        guard let connection = context.chat else { throw PluginDeclined.notByConnection }
        let tag = try choice.tag(of: context)
        guard joins else { return connection.leave(tag) }
        guard connection.join(tag) else {
            throw PluginDeclined("the connection has as many tags as it may, or the tag is not 1 to 128 bytes")
        }
    }
}
