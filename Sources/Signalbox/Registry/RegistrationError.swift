public import SignalboxCore

/// Why a plugin or a source was not registered.
public enum RegistrationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The action already has a plugin; the first one stays.
    case duplicateAction(ActionName, holder: String)
    /// The action has no plugin that could be replaced or removed.
    case noSuchAction(ActionName)
    /// The action's plugin takes whole batches, and its calls pass no middleware.
    case passesNoMiddleware(ActionName)
    /// The source is already there; the first one stays.
    case duplicateSource(SourceName)
    /// The supervisor drains or has stopped.
    case closed

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .duplicateAction(let action, let holder):
            "action \(action) is already served by \(holder); remove or replace it first"
        case .noSuchAction(let action): "no plugin is registered for action \(action)"
        case .passesNoMiddleware(let action):
            "the calls of the BatchPlugin for action \(action) pass no middleware; observe its outcomes instead"
        case .duplicateSource(let source): "source \(source) is already there; give each source its own name"
        case .closed: "the supervisor is closing; register before it drains"
        }
    }
}
