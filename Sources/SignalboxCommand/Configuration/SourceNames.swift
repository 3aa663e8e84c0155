import SignalboxCore

/// The names that a rule of `from` may use, whatever else is wrong with the sources.
struct SourceNames {
    /// As the file names them, in its order.
    let configured: [String]
    /// The key of ``SourceKind`` below each name that has one and no other.
    let kinds: [String: String]
    /// What the routes of a source of links begin with, where they are right.
    let linkPlaces: [String: LinkPlaces]
    /// The chat sources that are right.
    let chats: [String: ChatSection]
    /// The brokers' sources that are right.
    let brokers: [String: MQTTSection]

    /// Every name a rule may use.
    var all: [String] { configured + [SourceSection.internalName.text] }

    /// Whether the source is of this kind, or of one that is not known.
    func mayBe(_ source: String, _ kind: String) -> Bool {
        configured.contains(source) && kinds[source].map { $0 == kind } ?? true
    }
}
