public import SignalboxRoutes

/// A request to load a URL. Handlers read it and cannot change it for the next handler.
public struct NavigationRequest: Sendable, Hashable {
    /// The URL to load. The engine must open `URLText.text` and nothing else.
    public let url: URLText
    /// The cause of the navigation, as far as the engine reports it.
    public let kind: NavigationKind
    /// The frame that navigates, as far as the engine reports it.
    public let frame: FrameRole
    /// The requesting page, or `nil` if the engine does not report one, as on a first load.
    public let page: URLText?

    /// Creates a request from an engine's data. Pass values that the engine does not report as unknown; never guess.
    public init(url: URLText, kind: NavigationKind, frame: FrameRole, page: URLText? = nil) {
        self.url = url
        self.kind = kind
        self.frame = frame
        self.page = page
    }
}

/// The cause of a navigation.
public enum NavigationKind: String, Sendable, Hashable, CaseIterable {
    /// The user followed a link.
    case link
    /// The server or the page redirected the load to another URL.
    case redirect
    /// The user submitted a form.
    case form
    /// The same page is loaded again.
    case reload
    /// The page requests a new window.
    case newWindow
    /// The content is to be stored instead of shown.
    case download
    /// A cause without its own case, such as the first load of a page, or not reported by the engine.
    case other
}

extension NavigationKind {
    /// The kinds that lead the user from one page to another: ``link``, ``redirect`` and ``newWindow``.
    ///
    /// The default for ``PathHandler`` and ``HomePageHandler``. Excludes ``form``, whose input would be lost, and
    /// ``other``, by which an application loads its own pages.
    public static let followed: Set<NavigationKind> = [.link, .redirect, .newWindow]
}

/// The role of the frame that navigates, as far as the engine reports it.
public enum FrameRole: String, Sendable, Hashable, CaseIterable {
    /// The page itself.
    case main
    /// A frame inside the page.
    case sub
    /// The engine does not report the frame. The decision must be safe for both roles.
    case unknown
}
