import AppScheme
import Logging
import SignalboxCore

/// A source of links as a configuration has it; it ends with its links.
struct LinkAdapter: Adapter {
    private let feed: LinkFeed
    private let adapter: AppSchemeAdapter<LinkFeed>

    /// - Parameters:
    ///   - section: its routes, and where its links are.
    ///   - source: its name.
    ///   - limits: the bounds of one link.
    ///   - logger: hears how many links there were, never what they say.
    init(_ section: LinksSection, source: SourceName, limits: MessageLimits, logger: Logger) {
        feed = LinkFeed(section)
        adapter = AppSchemeAdapter(source: source, routes: section.routes, links: feed, limits: limits, logger: logger)
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    /// - Throws: ``NamedFileError`` when a file or stdin could not be read to its end; what was read is settled then.
    func run(into intake: any Intake) async throws {
        await adapter.run(into: intake)
        if let failure = feed.failure { throw failure }
    }
}
