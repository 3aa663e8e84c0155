public import SignalboxCore

extension ActionName {
    /// A connection was opened; submitted before its first message. The body is an object of `connection`, `peer`, and
    /// where there are any `principal`, `origin` and `subprotocol`. No peer can send it.
    public static let chatConnected = ActionName.own("connected")
    /// A connection ended; submitted after its last message. The body is that of ``chatConnected`` with `code` (RFC 6455,
    /// 7.4), where there was one, and `reason`. No peer can send it.
    public static let chatClosed = ActionName.own("closed")
}
