@testable import SignalboxCommand

/// Configurations with one WebSocket source.
enum WebSocketFixture {
    static func feed(_ feed: String, rule: String = "{ source: feed }") -> String {
        """
        sources:
          feed: { feed: \(feed) }
        plugins: [ { action: tick, use: log, from: [ \(rule) ] } ]
        """
    }

    static func chat(_ chat: String, plugin: String = "action: say, use: log, from: [ { source: chat } ]") -> String {
        """
        sources:
          chat: { chat: \(chat) }
        plugins: [ { \(plugin) } ]
        """
    }

    static func feedSection(_ feed: String) throws -> FeedSection {
        let configuration = try ConfigurationFixture.read(self.feed(feed))
        guard case .feed(let section)? = configuration.sources.first?.kind else {
            throw FileReadError(description: "the source is no feed")
        }
        return section
    }

    static func chatSection(_ chat: String) throws -> ChatSection {
        let configuration = try ConfigurationFixture.read(self.chat(chat))
        guard case .chat(let section)? = configuration.sources.first?.kind else {
            throw FileReadError(description: "the source is no chat")
        }
        return section
    }

    /// The one rule of the one plugin.
    static func rule(_ configuration: String) throws -> AccessSection? {
        try ConfigurationFixture.read(configuration).plugins.first?.from.first
    }
}
