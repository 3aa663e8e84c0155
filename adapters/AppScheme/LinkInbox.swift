import AdapterSupport
import DequeModule
import SignalboxCore
import Synchronization

/// A bounded in-memory queue for the links that the system passes to an application, from which an ``AppSchemeAdapter``
/// takes them.
///
/// Create the inbox when the application starts, and pass it every link that the system opens:
///
/// ```swift
/// let inbox = LinkInbox()
/// // In the view: .onOpenURL { inbox.open($0.absoluteString) }
/// ```
///
/// The inbox also accepts links while no adapter is running: before the first run, such as the link that launches the
/// application, and between two runs in the same process.
///
/// The adapter takes a link only when it can submit that link, so at most ``AppSchemeAdapter/maximumInFlight`` links
/// are in flight. Each link is delivered at most once, in order of arrival.
///
/// The inbox is a sequence for one consumer at a time. While a consumer is waiting for the next link, any other
/// iteration ends at once.
///
/// An inbox is safe to use from any thread.
public final class LinkInbox: Sendable {
    private let state: Mutex<LinkInboxState>

    /// Creates an inbox. An inbox is always bounded, because any page can create links faster than a program can handle
    /// them.
    ///
    /// - Parameters:
    ///   - links: The maximum number of waiting links. Must be between 1 and 100,000; the default is 64.
    ///   - bytes: The maximum total size of the waiting links, in bytes. Must be between 1 and 2^30; the default is 256
    ///     KiB. A link longer than this size is always refused.
    /// - Precondition: Both values are in their valid ranges.
    public init(links: Int = 64, bytes: Int = 256 * 1_024) {
        precondition((1...100_000).contains(links), "an inbox holds 1 to 100,000 links")
        precondition((1...1 << 30).contains(bytes), "an inbox holds 1 to 2^30 bytes")
        state = Mutex(LinkInboxState(queue: LinkQueue(links: links, bytes: bytes)))
    }

    /// Adds a link.
    ///
    /// - Returns: `true` if the link is queued, regardless of its content, or `false` if the inbox is full or closed,
    ///   in which case the link is only counted in ``refused``.
    @discardableResult
    public func open(_ url: String) -> Bool {
        var link = url
        // A bridged string would be converted again on every access.
        link.makeContiguousUTF8()
        return change { $0.append(link) }
    }

    /// Closes the inbox, so that it refuses further links. A run still delivers the links that are waiting, and after
    /// the last of them, the sequence and the run end.
    public func close() {
        change { queue in
            queue.close()
            return true
        }
    }

    /// The number of links waiting for delivery.
    public var waiting: Int { state.withLock { $0.queue.count } }

    /// The number of links that were refused because the inbox was full or closed.
    public var refused: Int { state.withLock { $0.queue.refused } }

    var isClosed: Bool { state.withLock { $0.queue.isClosed } }

    /// Returns the number of links that were refused since the previous call.
    func takeUnreportedRefusals() -> Int {
        state.withLock { $0.queue.takeUnreportedRefusals() }
    }

    /// Returns a previously taken link to the front of the queue.
    func putBack(_ link: String) {
        change { queue in
            queue.putBack(link)
            return true
        }
    }

    /// Calls a closure that changes the queue, and wakes the consumer if the closure returns `true`.
    @discardableResult
    private func change(_ body: (inout LinkQueue) -> Bool) -> Bool {
        let (isChanged, waiter) = state.withLock { state in
            let isChanged = body(&state.queue)
            return (isChanged, isChanged ? state.takeWaiter() : nil)
        }
        waiter?.set(())
        return isChanged
    }
}

extension LinkInbox: AsyncSequence {
    /// An iterator that takes links from the inbox.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let inbox: LinkInbox

        /// Waits for the oldest link and takes it.
        ///
        /// - Returns: The link, or `nil` in one of these cases:
        ///   - The inbox is closed and empty.
        ///   - Another consumer is already waiting.
        ///   - The task is cancelled. All links stay in the inbox.
        public mutating func next() async -> String? {
            await inbox.next()
        }
    }

    /// Starts an iteration, which does not return links that an earlier iteration has already taken.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(inbox: self)
    }

    private func next() async -> String? {
        while !Task.isCancelled {
            switch state.withLock({ $0.next() }) {
            case .link(let link): return link
            case .end: return nil
            case .wait(let woken):
                // The wait ends within `cancel()`, so another iteration may begin before this task resumes.
                await withTaskCancellationHandler {
                    await woken.value()
                } onCancel: {
                    state.withLock { $0.remove(woken) }
                    woken.set(())
                }
            }
        }
        return nil
    }
}

/// Holds the links and the waiting consumer of an inbox, without any locking.
struct LinkInboxState {
    enum Next {
        case link(String)
        /// There will be no more links, or another consumer is waiting.
        case end
        /// No link is available yet. The consumer must ask again when the promise is set.
        case wait(Promise<Void>)
    }

    var queue: LinkQueue
    private var waiter: Promise<Void>?

    init(queue: LinkQueue) {
        self.queue = queue
    }

    mutating func next() -> Next {
        guard waiter == nil else { return .end }
        if let link = queue.take() { return .link(link) }
        if queue.isClosed { return .end }
        let woken = Promise<Void>()
        waiter = woken
        return .wait(woken)
    }

    /// Removes the waiter.
    ///
    /// - Returns: The promise to set, if a consumer is waiting.
    mutating func takeWaiter() -> Promise<Void>? {
        defer { waiter = nil }
        return waiter
    }

    /// Ends a cancelled wait.
    mutating func remove(_ woken: Promise<Void>) {
        if waiter === woken { waiter = nil }
    }
}

/// A bounded queue of links waiting for delivery, oldest first. It performs no synchronization.
struct LinkQueue: Sendable {
    /// The maximum number of waiting links.
    let links: Int
    /// The maximum total size of the waiting links, in bytes.
    let bytes: Int
    /// The number of refused links.
    private(set) var refused = 0
    private var reported = 0
    private(set) var isClosed = false
    private(set) var byteCount = 0
    private var waiting = Deque<String>()

    init(links: Int, bytes: Int) {
        self.links = links
        self.bytes = bytes
    }

    var count: Int { waiting.count }

    /// Adds a link at the end.
    ///
    /// - Returns: `false` if the link does not fit or the queue is closed.
    mutating func append(_ link: String) -> Bool {
        let length = link.utf8.count
        guard !isClosed, count < links, length <= bytes - byteCount else {
            refused += 1
            return false
        }
        byteCount += length
        waiting.append(link)
        return true
    }

    /// Removes and returns the oldest link.
    mutating func take() -> String? {
        guard let link = waiting.popFirst() else { return nil }
        byteCount -= link.utf8.count
        return link
    }

    /// Returns the most recently taken link to the front. The queue may then exceed its bounds until the link is taken
    /// again, because a link that was once accepted is not refused.
    mutating func putBack(_ link: String) {
        byteCount += link.utf8.count
        waiting.prepend(link)
    }

    /// Returns the number of links that were refused since the previous call.
    mutating func takeUnreportedRefusals() -> Int {
        defer { reported = refused }
        return refused - reported
    }

    mutating func close() {
        isClosed = true
    }
}
