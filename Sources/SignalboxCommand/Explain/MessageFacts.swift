import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// What an adapter would know about a message besides its bytes, as far as the user said.
struct MessageFacts: Sendable {
    var topic: TopicName?
    var qos: Int?
    var isRetained = false
    var origin: WebOrigin?
    var frame: FrameRole?
    /// What a page posts the message to.
    var handler: ActionName?
    /// Who the client of a chat is.
    var principal: String?
    /// Whether the message of a chat or feed is a binary one.
    var isBinary = false

    /// The options that were given and are about messages of a broker alone.
    var brokerOptions: [String] {
        [
            topic == nil ? nil : "--topic", qos == nil ? nil : "--qos", isRetained ? "--retained" : nil,
        ].compactMap { $0 }
    }

    /// The options that were given and are about messages of a page alone.
    var pageOptions: [String] {
        [frame == nil ? nil : "--frame", handler == nil ? nil : "--handler"].compactMap { $0 }
    }

    /// The options that were given and are about messages of a page, or of a client of a chat.
    var originOptions: [String] { origin == nil ? [] : ["--origin"] }

    /// The options that were given and are about messages of a client of a chat alone.
    var chatOptions: [String] { principal == nil ? [] : ["--principal"] }

    /// The options that were given and are about messages of a chat or feed.
    var frameOptions: [String] { isBinary ? ["--binary"] : [] }

    /// All of them that were given.
    var options: [String] { brokerOptions + pageOptions + originOptions + chatOptions + frameOptions }
}
