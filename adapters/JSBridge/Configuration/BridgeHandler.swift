public import SignalboxCore

/// What a page posts to by name, `messageHandlers.NAME.postMessage(value)`, and the action that it becomes.
public struct BridgeHandler: Sendable, Hashable {
    /// The name in the page. One configuration has each once.
    public let identifier: ActionName
    /// The action, which plugins are registered for.
    public let action: ActionName

    /// - Parameters:
    ///   - identifier: the name in the page.
    ///   - action: what its messages become; the identifier itself by default. Another lets pages of one kind, which post
    ///     to the same name, be served by a plugin of their own.
    public init(_ identifier: ActionName, action: ActionName? = nil) {
        self.identifier = identifier
        self.action = action ?? identifier
    }
}
