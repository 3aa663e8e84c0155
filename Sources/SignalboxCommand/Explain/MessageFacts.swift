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

    /// The options that were given and are about messages of a broker alone.
    var brokerOptions: [String] {
        [
            topic == nil ? nil : "--topic", qos == nil ? nil : "--qos", isRetained ? "--retained" : nil,
        ].compactMap { $0 }
    }

    /// The options that were given and are about messages of a page alone.
    var pageOptions: [String] {
        [
            origin == nil ? nil : "--origin", frame == nil ? nil : "--frame", handler == nil ? nil : "--handler",
        ].compactMap { $0 }
    }
}
