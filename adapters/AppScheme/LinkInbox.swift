import Synchronization

/// Where an application puts the links that the system hands to it, from the first moment on; an ``AppSchemeAdapter``
/// takes them out.
///
/// Links wait here, in memory, until an adapter runs, also those that started the application, and between two runs of a
/// process. They leave when they can be handed over: ``AppSchemeAdapter/maximumInFlight`` at a time. Each is delivered at
/// most once, in the order in which they came. Any thread.
///
/// ```swift
/// let inbox = LinkInbox()
/// // In the view: .onOpenURL { inbox.open($0.absoluteString) }
/// ```
///
/// It is a sequence for one consumer at a time: while one waits for the next link, a second one's iteration ends at
/// once.
public final class LinkInbox: Sendable {
    private let state: Mutex<LinkInboxState>

    /// Bounds, as any page can make links faster than they are handled.
    ///
    /// - Parameters:
    ///   - links: the most links that wait, 1 to 100,000; 64 by default.
    ///   - bytes: the most bytes that they have together, 1 to 2^30; 256 KiB by default. A longer link is always
    ///     refused.
    /// - Precondition: both are in their ranges.
    public init(links: Int = 64, bytes: Int = 256 * 1_024) {
        precondition((1...100_000).contains(links), "an inbox holds 1 to 100,000 links")
        precondition((1...1 << 30).contains(bytes), "an inbox holds 1 to 2^30 bytes")
        state = Mutex(LinkInboxState(queue: LinkQueue(links: links, bytes: bytes)))
    }

    /// Hands a link in.
    ///
    /// - Returns: `true` when it is held and waits for its turn, whatever it says; `false` when the inbox is full or
    ///   closed: then it is only counted in ``refused``.
    @discardableResult
    public func open(_ url: String) -> Bool {
        var link = url
        // A text of another language's runtime would be converted each time it is looked at.
        link.makeContiguousUTF8()
        let (isHeld, waiter) = state.withLock { state in
            let isHeld = state.queue.append(link)
            return (isHeld, isHeld ? state.takeWaiter() : nil)
        }
        waiter?.resume()
        return isHeld
    }

    /// Takes no more links. What waits is still delivered by a run; then the sequence ends, and with it the adapter's run.
    public func close() {
        let waiter = state.withLock { state in
            state.queue.close()
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// How many links wait to be delivered.
    public var waiting: Int { state.withLock { $0.queue.count } }

    /// How many links were refused because the inbox was full or closed.
    public var refused: Int { state.withLock { $0.queue.refused } }

    var isClosed: Bool { state.withLock { $0.queue.isClosed } }

    /// How many links were refused since this was asked last.
    func takeUntoldRefusals() -> Int {
        state.withLock { $0.queue.takeUntoldRefusals() }
    }

    /// Puts a link that was taken out back before all others.
    func putBack(_ link: String) {
        let waiter = state.withLock { state in
            state.queue.putBack(link)
            return state.takeWaiter()
        }
        waiter?.resume()
    }
}

extension LinkInbox: AsyncSequence {
    /// Takes links out of the inbox.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let inbox: LinkInbox

        /// The oldest link, waited for.
        ///
        /// - Returns: `nil` when the task is cancelled, which leaves all links where they are; when the inbox is closed
        ///   and empty; and when another consumer waits already.
        public mutating func next() async -> String? {
            await inbox.next()
        }
    }

    /// Begins to take links out; what an earlier iteration took does not come again.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(inbox: self)
    }

    private func next() async -> String? {
        while !Task.isCancelled {
            switch state.withLock({ $0.answer() }) {
            case .link(let link): return link
            case .end: return nil
            case .wait(let number): await untilWoken(number)
            }
        }
        return nil
    }

    private func untilWoken(_ number: UInt64) async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let mustWait = state.withLock { $0.wait(number, continuation) }
                if !mustWait { return continuation.resume() }
                // A cancellation that came before the waiter was there has found nobody.
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: UInt64) {
        state.withLock { $0.takeWaiter(number) }?.resume()
    }
}

/// What an inbox holds, and who waits for it. Without locks.
struct LinkInboxState {
    enum Answer {
        case link(String)
        /// Nothing will come, or somebody else waits for it.
        case end
        /// There is nothing yet; the number is the wait's own.
        case wait(UInt64)
    }

    var queue: LinkQueue
    private var waiter: (number: UInt64, continuation: UnsafeContinuation<Void, Never>)?
    private var waits: UInt64 = 0

    init(queue: LinkQueue) {
        self.queue = queue
    }

    mutating func answer() -> Answer {
        guard waiter == nil else { return .end }
        if let link = queue.take() { return .link(link) }
        if queue.isClosed { return .end }
        waits += 1
        return .wait(waits)
    }

    /// - Returns: `false` when there is something to be looked at, and waiting would be for nothing.
    mutating func wait(_ number: UInt64, _ continuation: UnsafeContinuation<Void, Never>) -> Bool {
        guard waiter == nil, queue.count == 0, !queue.isClosed else { return false }
        waiter = (number, continuation)
        return true
    }

    /// - Returns: whoever waits and is to be woken.
    mutating func takeWaiter() -> UnsafeContinuation<Void, Never>? {
        defer { waiter = nil }
        return waiter?.continuation
    }

    /// - Returns: the same, if it is the one with that number.
    mutating func takeWaiter(_ number: UInt64) -> UnsafeContinuation<Void, Never>? {
        waiter?.number == number ? takeWaiter() : nil
    }
}

/// The links that wait to be delivered, oldest first, within bounds. Without threads or waiting.
struct LinkQueue: Sendable {
    /// The most links that wait.
    let links: Int
    /// The most bytes that they have together.
    let bytes: Int
    /// How many links were not taken.
    private(set) var refused = 0
    private var told = 0
    private(set) var isClosed = false
    private(set) var byteCount = 0
    /// The older part, the oldest link last.
    private var outgoing: [String] = []
    /// The newer part, the newest link last.
    private var incoming: [String] = []

    init(links: Int, bytes: Int) {
        self.links = links
        self.bytes = bytes
    }

    var count: Int { outgoing.count + incoming.count }

    /// - Returns: `false` when the link does not fit, or nothing is taken any more.
    mutating func append(_ link: String) -> Bool {
        let length = link.utf8.count
        guard !isClosed, count < links, length <= bytes - byteCount else {
            refused += 1
            return false
        }
        byteCount += length
        incoming.append(link)
        return true
    }

    /// Takes the oldest link out.
    mutating func take() -> String? {
        if outgoing.isEmpty {
            outgoing = incoming.reversed()
            incoming = []
        }
        guard let link = outgoing.popLast() else { return nil }
        byteCount -= link.utf8.count
        return link
    }

    /// Puts back what was taken last, before all others. It was taken in once and is not refused now: for so long the
    /// bounds may be exceeded by it.
    mutating func putBack(_ link: String) {
        byteCount += link.utf8.count
        outgoing.append(link)
    }

    /// - Returns: how many were refused since this was asked last.
    mutating func takeUntoldRefusals() -> Int {
        defer { told = refused }
        return refused - told
    }

    mutating func close() {
        isClosed = true
    }
}
