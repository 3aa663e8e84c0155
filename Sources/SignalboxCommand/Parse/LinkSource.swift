import AppScheme
import SignalboxCore

/// The source of links whose routes `parse` asks.
enum LinkSource {
    /// The routes of a configuration's source of links, or of the one with this name.
    ///
    /// - Throws: ``CommandRefusal`` when there is none, or several and no name.
    static func find(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandRefusal)
        -> AppRoutes
    {
        let sources = configuration.sources.compactMap { section -> (name: String, value: AppRoutes)? in
            guard case .links(let links) = section.kind else { return nil }
            return (section.name.text, links.routes)
        }
        let none = "no source has links; add one below 'sources', such as links: { links: { routes: […] } }"
        return try SourceChoice(kind: "links source", none: none, file: file).one(name, of: sources)
    }
}
