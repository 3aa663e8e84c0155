/// What a source is: the key below its name.
enum SourceKind: Sendable, Hashable {
    /// Topics of a broker.
    case mqtt(MQTTSection)
    /// A page without a window.
    case script(ScriptSection)
    /// URLs of a list, a file or stdin.
    case links(LinksSection)
    /// A WebSocket server that is connected to.
    case feed(FeedSection)
    /// A WebSocket server of our own.
    case chat(ChatSection)

    /// The keys, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat"]
}
