/// Whether a navigation is of a page's main frame, as far as the engine can tell.
public enum FrameRole: String, Sendable, Hashable, CaseIterable {
    /// Of the page itself.
    case main
    /// Of a frame inside it.
    case sub
    /// The engine does not tell: what is safe for either must be decided.
    case unknown
}
