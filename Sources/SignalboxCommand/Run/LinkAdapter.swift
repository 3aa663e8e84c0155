import AppScheme
import Logging
import SignalboxCore
import SignalboxRoutes
import Synchronization

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

/// The links of a source of a configuration: those of a list, then a file's lines, then those of stdin. Once.
///
/// Nothing is read before the links before it were taken, so that a slow supervisor slows whoever writes them.
final class LinkFeed: AsyncSequence, Sendable {
    private let section: LinksSection
    private let noted = Mutex<NamedFileError?>(nil)

    /// - Parameter section: where the links are.
    init(_ section: LinksSection) {
        self.section = section
    }

    /// Why a file or stdin was not read to its end.
    var failure: NamedFileError? { noted.withLock { $0 } }

    func makeAsyncIterator() -> AsyncIterator {
        var places: [AsyncIterator.Place] = []
        if let file = section.file { places.append(.file(file)) }
        if section.standardInput { places.append(.standardInput) }
        return AsyncIterator(feed: self, waiting: section.urls[...], places: places[...])
    }

    /// Gives the links one by one.
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate enum Place {
            case file(String)
            case standardInput
        }

        fileprivate let feed: LinkFeed
        fileprivate var waiting: ArraySlice<String>
        fileprivate var places: ArraySlice<Place>
        private var lines: LinkLines?

        fileprivate init(feed: LinkFeed, waiting: ArraySlice<String>, places: ArraySlice<Place>) {
            self.feed = feed
            self.waiting = waiting
            self.places = places
        }

        /// The next link, waited for; `nil` at the end, and when the task is cancelled.
        mutating func next() async -> String? {
            while !Task.isCancelled {
                if let link = waiting.popFirst() { return link }
                do throws(NamedFileError) {
                    guard try await readOn() else { return nil }
                } catch {
                    if !Task.isCancelled { feed.noted.withLock { $0 = error } }
                    return nil
                }
            }
            return nil
        }

        /// - Returns: `false` when there is no further place.
        private mutating func readOn() async throws(NamedFileError) -> Bool {
            if lines == nil {
                switch places.popFirst() {
                case nil: return false
                case .file(let path)?: lines = try await LinkLines(path: path)
                case .standardInput?: lines = .standardInput
                }
            }
            if let more = try await lines?.more() { waiting = more[...] } else { lines = nil }
            return true
        }
    }
}

/// The links of one file, a line each, in bounded memory. Empty lines are none.
struct LinkLines {
    /// Of a longer line this much is kept: more than any URL has, so that it is refused.
    private static let lineLimit = URLText.maximumLength + 4

    private let name: String
    private let reader: PieceReader
    private var splitter = LineSplitter(limit: lineLimit)
    private var isAtEnd = false

    /// The lines of stdin.
    static var standardInput: LinkLines { LinkLines(name: "stdin", reader: PieceReader(.standardInput)) }

    /// The lines of a file, or of a FIFO whose writer is waited for.
    ///
    /// - Parameter path: relative to the working directory.
    init(path: String) async throws(NamedFileError) {
        do throws(SystemError) {
            self.init(name: path, reader: try await PieceReader.opening(path))
        } catch {
            throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    private init(name: String, reader: PieceReader) {
        self.name = name
        self.reader = reader
    }

    /// The lines of the next piece, possibly none; `nil` when there are no more pieces.
    mutating func more() async throws(NamedFileError) -> [String]? {
        guard !isAtEnd else { return nil }
        let piece: [UInt8]
        do throws(SystemError) {
            piece = try await reader.next()
        } catch {
            throw NamedFileError(path: name, reason: "cannot be read: \(error)")
        }
        isAtEnd = piece.isEmpty
        let lines = isAtEnd ? [splitter.lastLine()].compactMap { $0 } : splitter.lines(in: piece)
        return lines.filter { !$0.bytes.isEmpty }.map(LinkLines.link)
    }

    /// The line as text. Of a line that is not UTF-8 each place that is none becomes U+001A, which stands for a character
    /// that was found invalid and which no URL has: it is refused and not mended.
    private static func link(_ line: InputLine) -> String {
        let bytes = line.content
        return bytes.text ?? String(decoding: line.bytes, as: UTF8.self).replacing("\u{FFFD}", with: "\u{1A}")
    }
}
