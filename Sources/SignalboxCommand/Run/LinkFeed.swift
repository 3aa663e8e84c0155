import AppScheme
import SignalboxRoutes
import Synchronization

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
