import AppScheme
import SignalboxCore

/// The `links` part of a source.
struct LinksSection: Sendable {
    /// Which action a link is.
    let routes: AppRoutes
    /// The same as they are written.
    let list: [AppRoute]
    /// The links that come first.
    var urls: [String] = []
    /// A file of links, which come next; relative to the working directory.
    var file: String?
    /// Whether links are read from stdin at last.
    var standardInput = false

    /// Whether it says where links come from.
    var hasLinks: Bool { !urls.isEmpty || file != nil || standardInput }

    /// What its links begin with.
    var places: LinkPlaces { LinkPlaces(list) }
}

extension LinksSection: Hashable {
    static func == (left: LinksSection, right: LinksSection) -> Bool {
        left.list == right.list && left.routes.fallback == right.routes.fallback && left.urls == right.urls
            && left.file == right.file && left.standardInput == right.standardInput
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(list)
    }
}
