/// A document that a server hands out from memory, for `GET` and `HEAD`.
///
/// It comes with strict headers: a browser frames it nowhere, guesses no other content type, keeps no copy, and does with
/// it what its policy says and no more.
public struct WebSocketPage: Sendable, Hashable {
    /// Such as `text/html; charset=utf-8`; 1 to 128 bytes of printable ASCII.
    public let contentType: String
    /// At most 1 MiB.
    public let body: [UInt8]
    /// What a browser may do with it.
    public let policy: WebSocketPagePolicy

    /// A document as given.
    ///
    /// - Parameters:
    ///   - contentType: as ``contentType``.
    ///   - body: as ``body``.
    ///   - policy: `strict` by default: no script runs in it, and nothing is loaded for it.
    public init(contentType: String, body: [UInt8], policy: WebSocketPagePolicy = .strict) {
        self.contentType = contentType
        self.body = body
        self.policy = policy
    }
}
