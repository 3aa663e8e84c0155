import AppScheme

/// The `links` part of a source.
struct LinksSection: Sendable {
    /// Which action a link is.
    let routes: AppRoutes
    /// What their links begin with.
    let places: LinkPlaces
    /// The links that come first.
    var urls: [String] = []
    /// A file of links, which come next; relative to the working directory.
    var file: String?
    /// Whether links are read from stdin at last.
    var standardInput = false

    /// Whether it says where links come from.
    var hasLinks: Bool { !urls.isEmpty || file != nil || standardInput }
}
