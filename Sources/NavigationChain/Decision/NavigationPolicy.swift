/// What shall become of a navigation: all that an engine can do with one.
public enum NavigationPolicy: String, Sendable, Hashable, CaseIterable {
    /// It is loaded and shown.
    case allow
    /// Nothing is loaded; the page stays.
    case cancel
    /// It is loaded and stored, and the page stays.
    case download
}
