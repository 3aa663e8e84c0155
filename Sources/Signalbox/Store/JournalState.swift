import SignalboxCore
import Synchronization

/// The state of a ``Journal``, behind its lock.
struct JournalState: Sendable {
    var uncommitted = JournalUse()
    /// What is committed and unfinished.
    var kept = JournalUse()
    /// Whether everything that an earlier journal of the source has recorded is on disk, and counted in ``kept``. Until then,
    /// nothing is taken.
    var isStarted = false
    /// Whether arrivals are read from disk, because there are older ones that were not dispatched.
    var isBehind = true
    /// The last row that was dispatched.
    var dispatched: Int64 = 0
    /// The last row that was committed.
    var committed: Int64 = 0
    var owners: [Int64: Journal.Owner] = [:]
    var returned = ReturnedRows()
    /// The message that is dispatched alone, and what waits for its outcome.
    var alone: (row: Int64, outcome: OutcomeSignal)?
    var isTooOld = false
    var isClosed = false
    var waiters: [UnsafeContinuation<Bool, Never>] = []
}

extension JournalState {
    /// Returns how many arrivals of a batch fit, starting with the first.
    func room(for batch: [Arrival], _ limits: JournalLimits, _ window: WindowLimits) -> Int {
        var rows = kept.rows + uncommitted.rows
        var bytes = kept.bytes + uncommitted.bytes
        var (newRows, newBytes) = (uncommitted.rows, uncommitted.bytes)
        var count = 0
        for arrival in batch {
            let length = arrival.originalLength
            // A message that is larger than what is left passes while a quarter is free, as `hasRoom` promises.
            guard rows < limits.rows, bytes + length <= limits.bytes || JournalState.hasQuarter(limits.bytes, bytes)
            else {
                break
            }
            guard newRows < window.arrivals,
                newBytes + length <= window.bytes || JournalState.hasQuarter(window.bytes, newBytes)
            else { break }
            rows += 1
            bytes += length
            newRows += 1
            newBytes += length
            count += 1
        }
        return count
    }

    /// Returns whether a quarter of each limit is free.
    func hasRoom(_ limits: JournalLimits, _ window: WindowLimits) -> Bool {
        isStarted && !isTooOld && JournalState.hasQuarter(limits.rows, kept.rows + uncommitted.rows)
            && JournalState.hasQuarter(limits.bytes, kept.bytes + uncommitted.bytes)
            && JournalState.hasQuarter(window.arrivals, uncommitted.rows)
            && JournalState.hasQuarter(window.bytes, uncommitted.bytes)
    }

    private static func hasQuarter(_ limit: Int, _ used: Int) -> Bool { used <= limit - max(1, limit / 4) }

    /// Returns what waits for the outcome of a message, if the message is dispatched alone.
    mutating func takeWaiter(of row: Int64) -> OutcomeSignal? {
        guard let alone, alone.row == row else { return nil }
        self.alone = nil
        return alone.outcome
    }

    /// Notes who waits for arrivals that are only on disk.
    ///
    /// - Returns: The arrivals that there was no room for, or all if the journal is closed.
    mutating func wait(for arrivals: ArraySlice<Arrival>, _ firstRow: Int64, _ sink: any SettlementSink)
        -> ArraySlice<Arrival>
    {
        let count = isClosed ? 0 : min(arrivals.count, max(0, Journal.maximumOwners - owners.count))
        for (offset, arrival) in arrivals.prefix(count).enumerated() {
            owners[firstRow + Int64(offset)] = Journal.Owner(sink: sink, token: arrival.token)
        }
        return arrivals.dropFirst(count)
    }
}

extension JournalUse {
    mutating func add(rows: Int, bytes: Int) {
        self.rows += rows
        self.bytes += bytes
    }

    mutating func subtract(rows: Int, bytes: Int) {
        self.rows = max(0, self.rows - rows)
        self.bytes = max(0, self.bytes - bytes)
    }
}

/// The messages that plugins gave back, and when they are dispatched again.
struct ReturnedRows: Sendable {
    private var due: [Int64: UInt64] = [:]
    private var counts: [Int64: Int] = [:]

    /// The first delay, and the longest.
    static let delays = (first: Duration.seconds(1), longest: Duration.seconds(300))

    mutating func add(_ row: Int64, at now: UInt64, tick: Duration) {
        let count = counts[row, default: 0]
        counts[row] = count + 1
        let delay = min(ReturnedRows.delays.first * (1 << min(count, 20)), ReturnedRows.delays.longest)
        due[row] = now + TickCount.ticks(in: delay, of: tick)
    }

    mutating func forget(_ row: Int64) {
        guard !counts.isEmpty else { return }
        counts[row] = nil
        due[row] = nil
    }

    /// Removes and returns the rows whose time has come, in order.
    mutating func takeDue(at now: UInt64) -> [Int64] {
        guard !due.isEmpty else { return [] }
        let rows = due.filter { $0.value <= now }.keys.sorted()
        for row in rows { due[row] = nil }
        return rows
    }
}

/// What ended the wait for a message that is dispatched alone.
enum AloneEnd: Sendable {
    case finished
    case givenBack
    /// The journal is closed.
    case closed
}

/// The end of the wait for one message, which may come before the wait.
final class OutcomeSignal: Sendable {
    private let state = Mutex<(value: AloneEnd?, waiter: UnsafeContinuation<AloneEnd, Never>?)>((nil, nil))

    func set(_ value: AloneEnd) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.value = value
            return state.waiter
        }
        waiter?.resume(returning: value)
    }

    func value() async -> AloneEnd {
        await withUnsafeContinuation { continuation in
            let value = state.withLock { state in
                if state.value == nil { state.waiter = continuation }
                return state.value
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
