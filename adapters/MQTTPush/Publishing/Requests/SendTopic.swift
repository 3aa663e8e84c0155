import SignalboxCore
import SignalboxRoutes

/// A topic with places for an action's name and id: `devices/{action}/{id}`.
struct SendTopic: Hashable {
    private let levels: [String]
    private let namesAction: Bool
    private let namesID: Bool

    /// - Throws: ``MQTTPublishError`` `invalidMessage` when it is no topic, or has other captures than `{action}` and `{id}`,
    ///   or one twice.
    init(_ text: String) throws(MQTTPublishError) {
        do {
            _ = try TopicName(text)
            let names = try TopicPattern(text).captureNames
            guard Set(names).isSubset(of: ["action", "id"]), !text.contains("..."), !text.contains(":") else {
                throw SendTopic.fault(text, "its captures are {action} and {id}")
            }
            namesAction = names.contains("action")
            namesID = names.contains("id")
        } catch let error as TopicError {
            throw SendTopic.fault(text, error.description)
        } catch {
            throw SendTopic.fault(text, "its captures are {action} and {id}")
        }
        levels = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    private static func fault(_ text: String, _ why: String) -> MQTTPublishError {
        MQTTPublishError(.invalidMessage, "the topic \(text.debugDescription) to send to: \(why)")
    }

    /// An id of 32 hexadecimal digits that nobody can guess.
    static func freshID() -> ActionID? {
        ActionID(RandomText.hexadecimal(bytes: 16))
    }

    /// The message that says this action.
    ///
    /// - Throws: ``MQTTPublishError`` `invalidMessage` when the body is no UTF-8, or the id cannot be a level of a topic.
    func message(
        _ action: ActionName,
        id: ActionID?,
        body: Bytes,
        version: MQTTVersion
    ) throws(MQTTPublishError) -> MQTTMessage {
        guard body.text != nil else {
            throw MQTTPublishError(.invalidMessage, "the body is not UTF-8, so it is no JSON")
        }
        let id = id ?? (namesID ? SendTopic.freshID() : nil)
        let topic = try topic(action, id)
        let payload = namesAction ? Array(body) : AnswerText.envelope(action, id: namesID ? nil : id, body: body)
        var message = MQTTMessage(payload, to: topic)
        guard version == .v5 else { return message }
        message.contentType = "application/json"
        if namesAction, !namesID, let id {
            message.userProperties = [MQTTMessage.UserProperty(name: "id", value: id.text)]
        }
        return message
    }

    private func topic(_ action: ActionName, _ id: ActionID?) throws(MQTTPublishError) -> String {
        var filled: [String] = []
        for level in levels {
            switch level {
            case "{action}": filled.append(action.text)
            case "{id}":
                let text = id?.text ?? ""
                guard !text.isEmpty, !text.utf8.contains(where: { "/+#\0".utf8.contains($0) }) else {
                    throw MQTTPublishError(.invalidMessage, "an id with /, +, # or NUL cannot be a level of a topic")
                }
                filled.append(text)
            default: filled.append(level)
            }
        }
        return filled.joined(separator: "/")
    }
}
