import AdapterSupport
import AppScheme
import Logging
import SignalboxCore
import SignalboxRoutes

/// Submits the links of a configured source. The adapter ends after the last link.
struct LinkAdapter: InFlightLimitedAdapter {
    private let feed: LinkFeed
    private let adapter: AppSchemeAdapter<LinkFeed>

    /// - Parameters:
    ///   - section: The routes, the limits, and where the links come from.
    ///   - source: The name of the source.
    ///   - logger: Logs the number of links. The links themselves are never logged.
    init(_ section: LinksSource, source: SourceName, logger: Logger) {
        feed = LinkFeed(section: section)
        adapter = AppSchemeAdapter(
            source: source,
            routes: section.routes,
            links: feed,
            limits: section.limits,
            logger: logger
        )
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }
    var maximumUnsettled: Int { adapter.maximumUnsettled }

    /// - Throws: ``NamedFileError`` if a file or stdin could not be read to its end. Links that were read before the
    ///   error are settled.
    func run(into intake: any Intake) async throws {
        await adapter.run(into: intake)
        if let failure = feed.failure.current { throw failure }
    }
}

extension LinkAdapter: RestoringAdapter {
    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] { adapter.restore(messages, at: now) }
}

/// Returns the links of a configured source: first those in the configuration, then the lines of a file, and finally
/// the lines of stdin. Empty lines are skipped.
///
/// The sequence can be iterated only once. It reads more input only after the previous links were accepted, so that a
/// slow supervisor slows the writer down.
struct LinkFeed: AsyncSequence, Sendable {
    /// The number of bytes to keep from each line. This is more than the maximum length of a URL, so a truncated line
    /// is always refused.
    private static let lineLimit = URLText.maximumLength + 4

    /// Where the links come from.
    let section: LinksSource
    /// Set if reading fails before the end of a file or stdin.
    let failure = Promise<NamedFileError>()

    func makeAsyncIterator() -> AsyncIterator {
        var inputs: [InputSource] = []
        if let file = section.file { inputs.append(.file(file)) }
        if section.standardInput { inputs.append(.standardInput) }
        return AsyncIterator(failure: failure, pending: section.urls[...], inputs: inputs[...])
    }

    /// Returns the links one by one.
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let failure: Promise<NamedFileError>
        fileprivate var pending: ArraySlice<String>
        fileprivate var inputs: ArraySlice<InputSource>
        fileprivate var reader: LineReader?

        /// Waits for the next link and returns it. Returns `nil` at the end of the input or when the task is cancelled.
        mutating func next() async -> String? {
            while !Task.isCancelled {
                if let link = pending.popFirst() { return link }
                guard let input = inputs.first else { return nil }
                do throws(SystemError) {
                    if reader == nil { reader = LineReader(try await input.reader(), limit: lineLimit) }
                    if let lines = try await reader?.next() {
                        pending = lines.filter { !$0.bytes.isEmpty }.map(\.link)[...]
                    } else {
                        reader = nil
                        inputs.removeFirst()
                    }
                } catch {
                    let reason = NamedFileError(path: input.name, reason: "cannot be read: \(error)")
                    if !Task.isCancelled { failure.set(reason) }
                    return nil
                }
            }
            return nil
        }
    }
}

extension InputLine {
    /// The line as text. Each invalid UTF-8 sequence becomes U+001A (SUBSTITUTE). No URL contains this character, so
    /// the line is refused rather than repaired.
    fileprivate var link: String {
        content.text ?? String(decoding: bytes, as: UTF8.self).replacing("\u{FFFD}", with: "\u{1A}")
    }
}
