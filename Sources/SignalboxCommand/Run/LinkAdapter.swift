import AppScheme
import Logging
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// An adapter for the links of a configured source. It ends after the last link.
struct LinkAdapter: Adapter {
    private let feed: LinkFeed
    private let adapter: AppSchemeAdapter<LinkFeed>

    /// - Parameters:
    ///   - section: The source's routes, their limits and the location of its links.
    ///   - source: The name of the source.
    ///   - logger: Receives the number of links, never their content.
    init(_ section: LinksSource, source: SourceName, logger: Logger) {
        feed = LinkFeed(section)
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

    /// - Throws: ``NamedFileError`` if a file or stdin could not be read to its end. The links read before are settled.
    func run(into intake: any Intake) async throws {
        await adapter.run(into: intake)
        if let failure = feed.failure { throw failure }
    }
}

/// The links of a configured source: those listed in it, then the lines of a file, then those of stdin. Single-pass.
///
/// Reads only after the previous links were accepted, so that a slow supervisor slows the writer.
final class LinkFeed: AsyncSequence, Sendable {
    private let section: LinksSource
    private let recordedFailure = Mutex<NamedFileError?>(nil)

    /// - Parameter section: The location of the links.
    init(_ section: LinksSource) {
        self.section = section
    }

    /// The error that ended reading before the end of a file or stdin, if any.
    var failure: NamedFileError? { recordedFailure.withLock { $0 } }

    func makeAsyncIterator() -> AsyncIterator {
        var inputs: [AsyncIterator.Input] = []
        if let file = section.file { inputs.append(.file(file)) }
        if section.standardInput { inputs.append(.standardInput) }
        return AsyncIterator(feed: self, pending: section.urls[...], inputs: inputs[...])
    }

    /// Returns the links one by one.
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate enum Input {
            case file(String)
            case standardInput
        }

        fileprivate let feed: LinkFeed
        fileprivate var pending: ArraySlice<String>
        fileprivate var inputs: ArraySlice<Input>
        private var lines: LinkLines?

        fileprivate init(feed: LinkFeed, pending: ArraySlice<String>, inputs: ArraySlice<Input>) {
            self.feed = feed
            self.pending = pending
            self.inputs = inputs
        }

        /// Waits for the next link and returns it. Returns `nil` at the end and when the task is cancelled.
        mutating func next() async -> String? {
            while !Task.isCancelled {
                if let link = pending.popFirst() { return link }
                do throws(NamedFileError) {
                    guard try await readMore() else { return nil }
                } catch {
                    if !Task.isCancelled { feed.recordedFailure.withLock { $0 = error } }
                    return nil
                }
            }
            return nil
        }

        /// - Returns: `false` if no input is left.
        private mutating func readMore() async throws(NamedFileError) -> Bool {
            if lines == nil {
                switch inputs.popFirst() {
                case nil: return false
                case .file(let path)?: lines = try await LinkLines(path: path)
                case .standardInput?: lines = .standardInput
                }
            }
            if let more = try await lines?.nextLines() { pending = more[...] } else { lines = nil }
            return true
        }
    }
}

/// The links of one file, one per line, read in bounded memory. Empty lines are skipped.
struct LinkLines {
    /// The number of bytes kept of a longer line. It exceeds the maximum length of a URL, so that the line is refused.
    private static let lineLimit = URLText.maximumLength + 4

    private let name: String
    private let reader: ChunkReader
    private var splitter = LineSplitter(limit: lineLimit)
    private var isAtEnd = false

    /// The lines of stdin.
    static var standardInput: LinkLines { LinkLines(name: "stdin", reader: ChunkReader(.standardInput)) }

    /// Opens a file, or a FIFO after waiting for its writer.
    ///
    /// - Parameter path: The path, relative to the working directory.
    init(path: String) async throws(NamedFileError) {
        do throws(SystemError) {
            self.init(name: path, reader: try await ChunkReader.opening(path))
        } catch {
            throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    private init(name: String, reader: ChunkReader) {
        self.name = name
        self.reader = reader
    }

    /// Returns the lines completed by the next chunk, possibly none, or `nil` after the last chunk.
    mutating func nextLines() async throws(NamedFileError) -> [String]? {
        guard !isAtEnd else { return nil }
        let chunk: [UInt8]
        do throws(SystemError) {
            chunk = try await reader.next()
        } catch {
            throw NamedFileError(path: name, reason: "cannot be read: \(error)")
        }
        isAtEnd = chunk.isEmpty
        let lines = isAtEnd ? [splitter.lastLine()].compactMap { $0 } : splitter.lines(in: chunk)
        return lines.filter { !$0.bytes.isEmpty }.map(LinkLines.link)
    }

    /// Returns the line as text. Each invalid UTF-8 sequence becomes U+001A (SUBSTITUTE), which no URL contains, so
    /// that the line is refused and not repaired.
    private static func link(_ line: InputLine) -> String {
        let bytes = line.content
        return bytes.text ?? String(decoding: line.bytes, as: UTF8.self).replacing("\u{FFFD}", with: "\u{1A}")
    }
}
