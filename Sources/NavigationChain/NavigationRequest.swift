public import SignalboxRoutes

/// A request to load a URL. Handlers can read a request, but they cannot change it for the next handler.
public struct NavigationRequest: Sendable, Hashable {
    /// The URL to load. The engine must open `URLText.text` and nothing else.
    public let url: URLText
    /// The cause of the navigation, if the engine reports it.
    public let kind: NavigationKind
    /// The frame that navigates, if the engine reports it.
    public let frame: FrameRole
    /// The page that requests the URL, or `nil` if the engine reports no page, as for a first load.
    public let page: URLText?

    /// Creates a request from the values that an engine reports. If the engine does not report a value, do not guess;
    /// instead, pass the value that stands for "unknown".
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
    /// The content will be stored instead of shown.
    case download
    /// Any other cause, such as the first load of a page, or a cause that the engine does not report.
    case other
}

extension NavigationKind {
    /// The kinds that lead the user from one page to the next: ``link``, ``redirect`` and ``newWindow``.
    ///
    /// This is the default for ``PathHandler`` and ``HomePageHandler``. The set excludes ``form``, because the form's
    /// input would be lost, and ``other``, because an application loads its own pages with that kind.
    public static let followed: Set<NavigationKind> = [.link, .redirect, .newWindow]
}

/// The role of the frame that navigates.
public enum FrameRole: String, Sendable, Hashable, CaseIterable {
    /// The page itself.
    case main
    /// A frame inside the page.
    case sub
    /// The engine does not report the frame, so the decision must be safe for both roles.
    case unknown
}
