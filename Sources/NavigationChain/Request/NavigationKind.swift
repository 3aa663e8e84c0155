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
