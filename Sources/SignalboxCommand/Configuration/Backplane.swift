import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The key `backplane` of a chat: the broker through which the chats of several programs share their broadcasts.
struct BackplaneSection: Sendable, Hashable {
    /// The MQTT source whose connection for publishing the broadcasts use.
    let source: SourceName
    /// The topic above the broadcasts. Each tag is a level below it.
    let topic: String

    /// Returns the name of the source that receives the broadcasts for a chat.
    ///
    /// - Throws: `NameError` if the chat's name is too long.
    static func receiver(of chat: SourceName) throws(NameError) -> SourceName {
        try SourceName("\(chat)-\(suffix)")
    }

    /// The topic above the broadcasts of a chat that names none.
    static func standardTopic(of chat: SourceName) -> String { "signalbox/backplane/\(chat)" }

    fileprivate static let suffix = "backplane"
    /// How much larger a broadcast may be than the message that caused it, in bytes: its action, its id and its braces.
    fileprivate static let overhead = 1_024
}

extension ActionName {
    /// The action of the broadcasts that arrive from a broker. Peers cannot send this action.
    static let backplane = ActionName.own("backplane")
}

extension RunConfiguration {
    /// The configured sources, and the sources that receive the broadcasts of chats with a backplane.
    var runningSources: [SourceSection] { sources + backplanes.map(\.receiver) }

    /// The configured plugins, and the plugin that hands broadcasts to the chats, if a chat has a backplane.
    var runningPlugins: [PluginSection] {
        let backplanes = backplanes
        guard !backplanes.isEmpty else { return plugins }
        let chats = Dictionary(backplanes.map { ($0.receiver.name, $0.chat) }) { first, _ in first }
        var plugin = PluginSection(
            action: .backplane,
            use: .deliver(chats: chats),
            from: backplanes.map { .origin($0.receiver.name, []) },
            timeout: supervisor.timeout
        )
        plugin.runsInline = true
        return plugins + [plugin]
    }

    private var backplanes: [(chat: SourceName, receiver: SourceSection)] {
        sources.compactMap { section in
            guard let backplane = section.kind.chat?.backplane,
                let broker = sources.first(where: { $0.name == backplane.source })?.kind.mqtt,
                let receiver = backplane.receiver(
                    for: section.name,
                    from: broker,
                    limits: broadcastLimits(of: section.name)
                )
            else { return nil }
            return (section.name, receiver)
        }
    }

    /// Returns the limits for what plugins broadcast to a chat. A chain may broadcast a list of messages.
    private func broadcastLimits(of chat: SourceName) -> MessageLimits {
        let senders = plugins.filter { $0.backplanes[chat] != nil }
        let all = senders.map { PluginUse.bodyLimits(limits, $0.use.parts) }
        return MessageLimits(
            bytes: all.map(\.bytes).max() ?? limits.bytes,
            depth: all.map(\.depth).max() ?? limits.depth
        )
    }
}

extension BackplaneSection {
    /// Returns the source that receives the broadcasts, with a connection and a session besides those of the broker's source.
    ///
    /// The session ends with the connection. Broadcasts for clients that are gone would otherwise wait in it, and the messages
    /// of the broker's source would wait behind broadcasts.
    ///
    /// - Parameter limits: The limits of a broadcast's body.
    func receiver(for chat: SourceName, from broker: MQTTSource, limits: MessageLimits) -> SourceSection? {
        guard let name = try? BackplaneSection.receiver(of: chat), let pattern = try? TopicPattern("\(topic)/+") else {
            return nil
        }
        var push = broker.push
        var subscription = MQTTTopic(pattern, action: .backplane)
        subscription.retained = .ignore
        (push.source, push.topics, push.connections) = (name, [subscription], [])
        (push.publishing, push.will, push.announcesConnections) = (nil, nil, false)
        push.clientID = push.clientID.with(suffix: name.text)
        (push.cleanStart, push.sessionExpiry) = (true, .zero)
        push.limits.bytes = min(limits.bytes + BackplaneSection.overhead, 1 << 26)
        push.limits.depth = min(limits.depth + 1, 512)
        var source = MQTTSource(push: push)
        source.countsDeliveries = false
        return SourceSection(name: name, kind: .mqtt(source), deduplication: .never)
    }
}
