/// What came back to a request.
///
/// Whoever may publish to the response topic could have written it: the topic's last level and the correlation cannot be
/// guessed, but the broker's operator and whoever may subscribe to `#` can read them.
public struct MQTTReply: Sendable, Hashable {
    /// What it says; of a Signalbox source `{"id", "outcome", "reply" | "error"}` as JSON.
    public let payload: [UInt8]
    /// What became of the action, where the answer has the user property `outcome`, as Signalbox's has: `handled`,
    /// `rejected` or `failed`.
    public let outcome: String?
    /// What the payload is, in the answerer's words.
    public let contentType: String?
    /// The user properties of the answer, `outcome` included, at most 64.
    public let userProperties: [MQTTMessage.UserProperty]

    /// The payload as text, or `nil` when it is not UTF-8.
    public var text: String? { String(validating: payload, as: UTF8.self) }
}
