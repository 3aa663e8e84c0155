import Signalbox
import SignalboxCore
import WebSocketChat

/// Sends what came back to whoever sent it: a text as a text message, bytes as a binary one, and JSON as the reply.
struct EchoPlugin: SyncPlugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) throws -> ReplyValue {
        switch info.kind {
        case .json: return try context.body.decode(ReplyValue.self)
        case .text: try EchoPlugin.connection(of: context).send(text: info.bytes.text ?? "")
        case .bytes: try EchoPlugin.connection(of: context).send(binary: info.bytes)
        }
        return .null
    }

    private static func connection(of context: ActionContext) throws(PluginDeclined) -> ChatConnection {
        guard let connection = context.chat else { throw .notByConnection }
        return connection
    }
}
