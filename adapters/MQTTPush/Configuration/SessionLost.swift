public import SignalboxCore

extension ActionName {
    /// The action that reports a lost session.
    ///
    /// It is submitted when a source reconnects to a broker that no longer has the source's session, so messages sent
    /// in the meantime may be missing.
    ///
    /// To use this action, set ``MQTTPushConfiguration/announcesConnections`` and register a plugin that fetches the
    /// missing state from elsewhere. The action is submitted before the first message in the new session, and
    /// publishers cannot send it themselves.
    ///
    /// The body is an object with the members `broker` and `client_id`. For one of
    /// ``MQTTPushConfiguration/connections``, it also has the member `connection`.
    public static let pushSessionLost = ActionName.own("sessionLost")
}
