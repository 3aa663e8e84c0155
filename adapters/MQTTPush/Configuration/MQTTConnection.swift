/// A further connection of a push source, with topics of its own.
///
/// It has a thread, a session and a client id of its own: the source's, `-` and the connection's name. Its messages never
/// wait for a batch of another connection, so urgent topics belong on one of their own.
public struct MQTTConnection: Sendable, Hashable {
    /// Tells it apart: 1 to 64 letters, digits, `.`, `_` and `-`; once per source.
    public var name: String
    /// Its subscriptions, 1 to 1,000. The first that matches a topic decides about its messages.
    public var topics: [MQTTTopic]

    /// A connection by its name.
    public init(name: String, topics: [MQTTTopic]) {
        self.name = name
        self.topics = topics
    }

    func validate() throws(MQTTPushError) {
        let isAllowed = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "._-".utf8.contains(byte)
            }
        }
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "a connection's name has 1 to 64 letters, digits, '.', '_' and '-'"
            )
        }
    }
}
