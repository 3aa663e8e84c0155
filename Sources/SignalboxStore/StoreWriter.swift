#if Store
internal import Dispatch
internal import SQLiteDatabase
import SignalboxCore
import Synchronization

/// Collects changes from all threads and commits them together: one transaction and one fsync for all that were made during the
/// last commit.
///
/// The changes are made on the database's writer queue, in the order in which they were added. If a commit fails, its changes stay
/// first in line and are tried again after ``retryDelay``.
final class StoreWriter: Sendable {
    /// A change, and what waits for it.
    enum Change: Sendable {
        case append([Arrival], committed: @Sendable (Int64) -> Void)
        case settle(StoredSettlement, committed: (@Sendable () -> Void)?)
        case beginAlone(Int64, committed: @Sendable () -> Void)
        case survivedAlone(Int64)
        case note(OutcomeRecord)
        /// Changes nothing.
        case flush(done: @Sendable () -> Void)
    }

    private struct State {
        var pending: [Change] = []
        /// The number of outcomes in ``pending`` that are only for the history.
        var notes = 0
        var droppedNotes = 0
        /// Whether a commit is running or scheduled.
        var isScheduled = false
        var failures = 0
        /// Why the last commit failed, or `nil` if it succeeded.
        var problem: String?
        var onEvent: (@Sendable (StoreEvent) -> Void)?
        /// What was found when the store was opened, until it is reported.
        var found: StoreEvent?
        var isClosed = false

        /// Returns whether a change is added. The history has no more than a number of outcomes that wait, because nothing depends on
        /// it.
        mutating func hasRoom(for change: Change) -> Bool {
            guard case .note = change else { return true }
            guard notes < StoreWriter.maximumNotes else {
                droppedNotes += 1
                return false
            }
            notes += 1
            return true
        }

        mutating func take() -> [Change] {
            defer { (pending, notes) = ([], 0) }
            return pending
        }
    }

    /// The delay after a failed commit.
    static let retryDelay = DispatchTimeInterval.seconds(1)

    /// The maximum number of outcomes that wait to be added to the history.
    static let maximumNotes = 10_000

    private let state: Mutex<State>
    private let pool: DatabasePool
    private let path: String
    /// Whether the next program must be told that one ended without closing the store.
    private let isInterruptedAfter: Bool
    /// Changed on the writer queue only.
    private let tables: Mutex<StoreTables>

    init(_ pool: DatabasePool, _ tables: StoreTables, path: String, isInterruptedAfter: Bool, found: StoreEvent?) {
        state = Mutex(State(found: found))
        self.isInterruptedAfter = isInterruptedAfter
        self.pool = pool
        self.tables = Mutex(tables)
        self.path = path
    }

    /// The last row of the journal that is on disk.
    var lastRow: Int64 { tables.withLock { $0.lastRow } }

    /// Why the last commit failed, or `nil` if it succeeded.
    var problem: String? { state.withLock { $0.problem } }

    func add(_ change: Change) {
        let (isFirst, isClosed) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed else { return (false, true) }
            guard state.hasRoom(for: change) else { return (false, false) }
            state.pending.append(change)
            defer { state.isScheduled = true }
            return (!state.isScheduled, false)
        }
        if isFirst { schedule() }
        guard isClosed else { return }
        switch change {
        case .flush(let done), .beginAlone(_, let done): done()
        case .append, .settle, .survivedAlone, .note: break
        }
    }

    func observe(_ onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        let found = state.withLock { state in
            defer { state.found = nil }
            state.onEvent = onEvent
            return state.found
        }
        if let found { onEvent(found) }
    }

    /// Commits what is pending and makes no more changes.
    ///
    /// - Throws: The error of the last commit. The changes that it had are lost.
    func close() throws {
        state.withLock { $0.isClosed = true }
        try pool.writeWithoutTransaction { db in
            let changes = state.withLock { $0.take() }
            if !changes.isEmpty { try commit(changes, db) }
            let running = isInterruptedAfter ? 1 : 0
            try db.execute(sql: "UPDATE meta SET value = ? WHERE key = 'running'", arguments: [running])
        }
    }

    private func schedule() {
        pool.asyncWriteWithoutTransaction { [self] db in commitPending(db) }
    }

    private func commitPending(_ db: Database) {
        let changes = state.withLock { $0.isClosed ? [] : $0.take() }
        guard !changes.isEmpty else { return continueOrRest() }
        do {
            try commit(changes, db)
        } catch {
            guard StoreWriter.mayPass(error) || !commitEach(changes, db) else { return continueOrRest() }
            return retryLater(changes, error)
        }
        continueOrRest()
    }

    /// Returns whether a commit with the same changes may succeed later.
    private static func mayPass(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return true }
        let passing: [ResultCode] = [
            .full, .ioError, .busy, .locked, .noMemory, .readOnly, .cannotOpen, .corrupt,
        ]
        return passing.contains(error.resultCode)
    }

    /// Commits changes one by one, because one of them can never be committed. That one is reported and left out, so its arrivals
    /// are not acknowledged, or stay in the journal.
    ///
    /// - Returns: `false` if nothing was committed.
    private func commitEach(_ changes: [Change], _ db: Database) -> Bool {
        var refused: (any Error)?
        var isAnyCommitted = false
        for change in changes {
            do {
                try commit([change], db)
                isAnyCommitted = true
            } catch {
                refused = error
            }
        }
        guard isAnyCommitted || changes.count == 1 else { return false }
        if let refused, let onEvent = state.withLock({ $0.onEvent }) {
            onEvent(.writeFailed(StoreError(refused, path: path).description))
        }
        return true
    }

    private func continueOrRest() {
        let (events, onEvent, continues) = state.withLock {
            state -> ([StoreEvent], (@Sendable (StoreEvent) -> Void)?, Bool) in
            defer { (state.failures, state.problem, state.droppedNotes) = (0, nil, 0) }
            state.isScheduled = !state.pending.isEmpty && !state.isClosed
            var events: [StoreEvent] = state.failures > 0 ? [.writable(failures: state.failures)] : []
            if state.droppedNotes > 0 { events.append(.historyDropped(state.droppedNotes)) }
            return (events, state.onEvent, state.isScheduled)
        }
        for event in events { onEvent?(event) }
        if continues { schedule() }
    }

    /// Makes changes in one transaction, and tells those that wait for them.
    private func commit(_ changes: [Change], _ db: Database) throws {
        var done: [@Sendable () -> Void] = []
        var events: [StoreEvent] = []
        var next = tables.withLock { $0 }
        try db.inTransaction(.immediate) {
            for change in changes { try make(change, &next, db, &done) }
            events = try next.finish(db)
        }
        tables.withLock { $0 = next }
        if !events.isEmpty, let onEvent = state.withLock({ $0.onEvent }) { events.forEach(onEvent) }
        for call in done { call() }
    }

    private func make(
        _ change: Change,
        _ tables: inout StoreTables,
        _ db: Database,
        _ done: inout [@Sendable () -> Void]
    ) throws {
        switch change {
        case .append(let arrivals, let committed):
            let row = try tables.append(arrivals, db)
            done.append { committed(row) }
        case .settle(let settlement, let committed):
            try tables.record(settlement, db)
            if let committed { done.append(committed) }
        case .beginAlone(let row, let committed):
            try db.execute(sql: "UPDATE journal SET crashes = crashes + 1 WHERE row = ?", arguments: [row])
            done.append(committed)
        case .survivedAlone(let row):
            try db.execute(sql: "UPDATE journal SET crashes = 0 WHERE row = ?", arguments: [row])
        case .note(let record): try tables.note(record, db)
        case .flush(let call): done.append(call)
        }
    }

    private func retryLater(_ changes: [Change], _ error: any Error) {
        var flushes: [@Sendable () -> Void] = []
        let kept = changes.filter { change in
            guard case .flush(let done) = change else { return true }
            flushes.append(done)
            return false
        }
        let problem = StoreError(error, path: path).description
        let (failures, onEvent) = state.withLock { state in
            // Without anything to write again, no later commit would show that the file can be written.
            if !kept.isEmpty { state.problem = problem }
            state.pending = kept + state.pending
            state.notes += kept.count { if case .note = $0 { true } else { false } }
            state.failures += 1
            return (state.failures, state.onEvent)
        }
        for done in flushes { done() }
        // Once a minute, as each attempt would fill the log.
        if failures % 60 == 1 { onEvent?(.writeFailed(problem)) }
        DispatchQueue.global().asyncAfter(deadline: .now() + StoreWriter.retryDelay) { [self] in schedule() }
    }
}
#endif
