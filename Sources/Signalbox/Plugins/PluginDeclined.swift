/// Thrown by a plugin whose body fits although the action is not its own: a ``FallbackPlugin`` asks the next.
///
/// Where nobody else is asked the outcome is `rejected(invalidBody)` with this reason, as no plugin took the action: it
/// is no failure, so it is not retried and says nothing to a circuit breaker.
public struct PluginDeclined: Error, Sendable, Hashable, CustomStringConvertible {
    /// Why, in words, without the message's own content: it is logged and answered.
    public let reason: String

    /// - Parameter reason: why, in words, without the message's own content.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// `declined:` and the reason.
    public var description: String { "declined: \(reason)" }
}
