import MQTTPush
import Signalbox
import SignalboxCore

/// Publishes each action's body through a source, and returns when the broker has it.
struct PublishPlugin: Plugin {
    let action: ActionName
    let section: PublishSection
    let publishers: PublisherTable

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let topic: String
        do throws(TopicTemplateError) {
            topic = try section.topic.topic(for: context.action.name, id: context.id)
        } catch {
            throw PluginDeclined(error.description)
        }
        guard let publisher = publishers.publisher(of: section.source) else {
            throw PublishFailure(reason: "the source \(section.source) is not run here", isRetryable: false)
        }
        let payload = info.kind == .json ? Array(context.action.body.json) : Array(info.bytes)
        var message = MQTTMessage(payload, to: topic, quality: section.quality, retain: section.retain)
        if info.kind == .json, publisher.configuration.version == .v5 { message.contentType = "application/json" }
        do throws(MQTTPublishError) {
            _ = try await publisher.publish(message)
        } catch {
            let mayPass = [.queueFull, .timeout, .notConnected].contains(error.code)
            throw PublishFailure(
                reason: "not published to \(topic.debugDescription): \(error)",
                isRetryable: mayPass,
                whenExhausted: mayPass || [.stopped, .cancelled].contains(error.code) ? .abandon : .deadLetter
            )
        }
    }
}
