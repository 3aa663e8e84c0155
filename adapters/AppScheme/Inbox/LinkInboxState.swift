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
