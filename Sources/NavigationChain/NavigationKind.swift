/// Why a page would load another URL.
public enum NavigationKind: String, Sendable, Hashable, CaseIterable {
    /// A link was followed.
    case link
    /// The server, or the page, sent the load on to another URL.
    case redirect
    /// A form was submitted.
    case form
    /// The same page again.
    case reload
    /// The page asks for a new window.
    case newWindow
    /// What comes is to be stored and not shown.
    case download
    /// What the engine names otherwise, such as the first load of a page, or does not tell.
    case other
}
