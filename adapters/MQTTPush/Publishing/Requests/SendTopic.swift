import SignalboxCore

/// A topic with places for an action's name and id: `devices/{action}/{id}`.
struct SendTopic: Hashable {
    private let template: TopicTemplate

    /// - Throws: ``MQTTPublishError`` `invalidMessage` when it is no topic, or has other captures than `{action}` and `{id}`,
    ///   or one twice.
    init(_ text: String) throws(MQTTPublishError) {
        do throws(TopicTemplateError) {
            template = try TopicTemplate(text)
        } catch {
            throw SendTopic.fault(text, error.description)
        }
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
        let id = id ?? (template.namesID ? SendTopic.freshID() : nil)
        let topic: String
        do throws(TopicTemplateError) {
            topic = try template.topic(for: action, id: id)
        } catch {
            throw MQTTPublishError(.invalidMessage, error.description)
        }
        let payload =
            template.namesAction
            ? Array(body) : AnswerText.envelope(action, id: template.namesID ? nil : id, body: body)
        var message = MQTTMessage(payload, to: topic)
        guard version == .v5 else { return message }
        message.contentType = "application/json"
        if template.namesAction, !template.namesID, let id {
            message.userProperties = [MQTTMessage.UserProperty(name: "id", value: id.text)]
        }
        return message
    }
}
