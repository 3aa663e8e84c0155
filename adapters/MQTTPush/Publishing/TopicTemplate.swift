import AdapterSupport
package import SignalboxCore
package import SignalboxRoutes

/// A topic to publish to, in which `{action}` and `{id}` can be levels, as in `devices/{action}/{id}`.
///
/// Ids are untrusted. An id can therefore neither change the number of levels nor address the broker's own topics.
package struct TopicTemplate: Sendable, Hashable {
    private enum Level: Sendable, Hashable {
        case text(String)
        case action
        case id
    }

    /// The template as written.
    package let text: String
    private let levels: [Level]

    /// - Throws: ``TopicTemplateError`` in one of these cases:
    ///   - The text contains any other braces.
    ///   - `{action}` or `{id}` is only part of a level, or appears twice.
    ///   - The text contains something that is not allowed in a topic: wildcards, U+0000, or a leading `$`.
    package init(_ text: String) throws(TopicTemplateError) {
        var levels: [Level] = []
        for level in text.split(separator: "/", omittingEmptySubsequences: false) {
            switch level {
            case "{action}": levels.append(.action)
            case "{id}": levels.append(.id)
            case _ where level.contains { "{}".contains($0) }:
                throw TopicTemplateError(description: "a level may be {action} or {id}, and has no other braces")
            default: levels.append(.text(String(level)))
            }
        }
        guard levels.count(where: { $0 == .action }) < 2, levels.count(where: { $0 == .id }) < 2 else {
            throw TopicTemplateError(description: "{action} and {id} may each occur only once")
        }
        guard !text.hasPrefix("$") else {
            throw TopicTemplateError(description: "topics that begin with '$' belong to the broker")
        }
        self.text = text
        self.levels = levels
        do throws(TopicError) {
            _ = try TopicName(filled(action: "a", id: "i"))
        } catch {
            throw TopicTemplateError(description: "not a topic that can be published to: \(error)")
        }
    }

    var namesAction: Bool { levels.contains(.action) }
    var namesID: Bool { levels.contains(.id) }

    /// A filter that matches every topic that this template can produce.
    package var filter: TopicFilter? { try? TopicFilter(filled(action: "+", id: "+")) }

    /// Returns the topic for an action.
    ///
    /// - Throws: ``TopicTemplateError`` if the template contains `{id}` and the id cannot be used as a level.
    package func topic(for action: ActionName, id: ActionID?) throws(TopicTemplateError) -> String {
        let id = id?.text ?? ""
        let isForbidden = { (scalar: Unicode.Scalar) in
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || "/+#".unicodeScalars.contains(scalar)
        }
        guard !namesID || !id.isEmpty && !id.unicodeScalars.contains(where: isForbidden) else {
            throw TopicTemplateError(
                description:
                    "the id cannot be a level of a topic: it is empty, or has a '/', '+', '#' or control character"
            )
        }
        let topic = filled(action: action.text, id: id)
        // The first level may come from an id, and that id could be `$SYS`.
        guard !topic.hasPrefix("$"), (try? TopicName(topic)) != nil else {
            throw TopicTemplateError(description: "this id makes the topic invalid")
        }
        return topic
    }

    private func filled(action: String, id: String) -> String {
        levels.map { level in
            switch level {
            case .text(let text): text
            case .action: action
            case .id: id
            }
        }.joined(separator: "/")
    }
}

/// An error in a topic template, or in an id to insert into it.
package struct TopicTemplateError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A description of the error, which does not quote the template or id.
    package let description: String
}

/// A topic with placeholders for an action's name and id, such as `devices/{action}/{id}`.
struct SendTopic: Hashable {
    private let template: TopicTemplate

    /// - Throws: ``MQTTPublishError`` `invalidMessage` if the text is not a topic, contains captures other than
    ///   `{action}` and `{id}`, or contains a capture twice.
    init(_ text: String) throws(MQTTPublishError) {
        do throws(TopicTemplateError) {
            template = try TopicTemplate(text)
        } catch {
            throw .invalid("the topic \(text.debugDescription) to send to: \(error.description)")
        }
    }

    /// Returns an unguessable id of 32 hexadecimal digits.
    static func newID() -> ActionID? {
        ActionID(RandomBytes.make(16).hexadecimal)
    }

    /// Returns the message for an action.
    ///
    /// - Throws: ``MQTTPublishError`` `invalidMessage` if the body is not UTF-8, or the id cannot be used as a topic
    ///   level.
    func message(
        _ action: ActionName,
        id: ActionID?,
        body: Bytes,
        version: MQTTVersion
    ) throws(MQTTPublishError) -> MQTTMessage {
        guard body.text != nil else { throw .invalid("the body is not UTF-8, so it is not JSON") }
        let id = id ?? (template.namesID ? SendTopic.newID() : nil)
        let topic: String
        do throws(TopicTemplateError) {
            topic = try template.topic(for: action, id: id)
        } catch {
            throw .invalid(error.description)
        }
        let payload =
            template.namesAction
            ? Array(body) : AnswerWriter.envelope(action, id: template.namesID ? nil : id, body: body)
        var message = MQTTMessage(payload, to: topic)
        guard version == .v5 else { return message }
        message.contentType = "application/json"
        if template.namesAction, !template.namesID, let id {
            message.userProperties = [MQTTMessage.UserProperty(name: "id", value: id.text)]
        }
        return message
    }
}
