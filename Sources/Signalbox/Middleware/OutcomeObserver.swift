/// Told of every arrival when it is decided: those that reached a plugin, and those that did not.
///
/// A ``Middleware`` that conforms too is told as soon as it is used: with ``Supervisor/use(_:)`` of everything, for one plugin
/// of what was meant for that plugin.
public protocol OutcomeObserver: Sendable {
    /// Called once per arrival before its adapter is told, on any thread, also at the same time on several; must not
    /// block.
    func settled(_ arrival: SettledArrival)
}
