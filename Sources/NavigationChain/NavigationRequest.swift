public import SignalboxRoutes

/// One question: may this URL be loaded? Handlers read it; none can change it for the next.
public struct NavigationRequest: Sendable, Hashable {
    /// What would be loaded: the engine must open `URLText.text` and nothing else.
    public let url: URLText
    /// Why it would be loaded, as far as the engine tells.
    public let kind: NavigationKind
    /// Whether it is the page itself that would load it, as far as the engine tells.
    public let frame: FrameRole
    /// The page that asks, or `nil` where the engine does not tell or there is none, as with a first load.
    public let page: URLText?

    /// A question as an engine has it. What the engine does not tell is said to be unknown, never guessed.
    public init(url: URLText, kind: NavigationKind, frame: FrameRole, page: URLText? = nil) {
        self.url = url
        self.kind = kind
        self.frame = frame
        self.page = page
    }
}

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

extension NavigationKind {
    /// Where the user is led from one page to another: ``link``, ``redirect`` and ``newWindow``.
    ///
    /// What ``PathHandler`` and ``HomePageHandler`` look at unless they are told otherwise. A form is not in it, as what
    /// was filled in would be lost; nor is ``other``, by which an application loads its own pages.
    public static let followed: Set<NavigationKind> = [.link, .redirect, .newWindow]
}

/// Whether a navigation is of a page's main frame, as far as the engine can tell.
public enum FrameRole: String, Sendable, Hashable, CaseIterable {
    /// Of the page itself.
    case main
    /// Of a frame inside it.
    case sub
    /// The engine does not tell: what is safe for either must be decided.
    case unknown
}
