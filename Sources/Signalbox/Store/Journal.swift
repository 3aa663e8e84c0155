import DequeModule
import SignalboxCore
import Synchronization

/// The intake of a source that has a journal: commits what the adapter submits, acknowledges it, and dispatches it through the
/// source's ordinary intake.
///
/// As long as the plugins keep up, arrivals go on from memory. When the source's window is full, the journal becomes the queue: new
/// arrivals are only committed, and ``JournalBacklog`` reads them from disk, in order, when there is room. At the start, the backlog
/// is what an earlier run has left.
final class Journal: Intake {
    let source: SourceName
    let store: any MessageStore
    let intake: SourceIntake
    let adapter: any RestoringAdapter
    private let limits: JournalLimits
    private let state: Mutex<JournalState>

    /// What waits for the outcome of an arrival.
    struct Owner: Sendable {
        let sink: any SettlementSink
        let token: UInt64
    }

    /// The maximum number of senders that wait for the outcomes of arrivals that are only on disk. Further senders learn at once that
    /// their message is kept.
    static let maximumOwners = 10_000

    init(_ limits: JournalLimits, _ store: any MessageStore, _ intake: SourceIntake, _ adapter: any RestoringAdapter) {
        source = intake.source
        self.limits = limits
        self.store = store
        self.intake = intake
        self.adapter = adapter
        state = Mutex(JournalState())
    }
}

// MARK: - Submission

extension Journal {
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let count = state.withLock { state -> Int in
            guard state.isStarted, !state.isClosed, !state.isTooOld else { return 0 }
            let count = state.room(for: batch, limits, intake.settler.window.limits)
            state.uncommitted.rows += count
            state.uncommitted.bytes += batch[..<count].reduce(0) { $0 + $1.originalLength }
            return count
        }
        guard count > 0 else { return 0 }
        let taken = count == batch.count ? batch : Array(batch[..<count])
        let commits = intake.settler.core.pendingCommits
        let number = commits.add { for arrival in taken { sink.settle(arrival.token, .abandoned(.drain)) } }
        store.append(taken) { [self] row in if commits.take(number) { committed(taken, row, sink) } }
        return count
    }

    func room() async throws(SourceClosed) {
        let isOpen = await withUnsafeContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.isClosed { return false }
                if state.hasRoom(limits, intake.settler.window.limits) { return true }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
        if !isOpen { throw SourceClosed() }
    }

    /// Acknowledges arrivals that are on disk, and dispatches them unless older ones wait. Called on the store's thread, in order.
    private func committed(_ arrivals: [Arrival], _ firstRow: Int64, _ sink: any SettlementSink) {
        // Before anyone can settle them.
        for arrival in arrivals { sink.accepted(arrival.token) }
        let lastRow = firstRow + Int64(arrivals.count) - 1
        let (isLive, unowned) = state.withLock { state -> (Bool, ArraySlice<Arrival>) in
            let bytes = arrivals.reduce(0) { $0 + $1.originalLength }
            state.uncommitted.subtract(rows: arrivals.count, bytes: bytes)
            state.kept.add(rows: arrivals.count, bytes: bytes)
            state.committed = lastRow
            if !state.isClosed, !state.isBehind {
                state.dispatched = lastRow
                return (true, [])
            }
            return (false, state.wait(for: arrivals[...], firstRow, sink))
        }
        for arrival in unowned { sink.settle(arrival.token, .abandoned(.kept)) }
        wakeWaiters()
        if isLive { dispatch(arrivals, firstRow, sink) }
    }

    private func dispatch(_ arrivals: [Arrival], _ firstRow: Int64, _ sink: any SettlementSink) {
        let rows = (0..<Int64(arrivals.count)).map { firstRow + $0 }
        let taken = intake.submit(arrivals, to: JournalSink(self, arrivals, rows: rows, adapter: sink))
        guard taken < arrivals.count else { return }
        let unowned = state.withLock { state -> ArraySlice<Arrival> in
            state.isBehind = true
            state.dispatched = firstRow + Int64(taken) - 1
            return state.wait(for: arrivals[taken...], firstRow + Int64(taken), sink)
        }
        for arrival in unowned { sink.settle(arrival.token, .abandoned(.kept)) }
        readBacklog()
    }
}

// MARK: - Outcomes

extension Journal {
    /// Notes that a message has an outcome and leaves the journal.
    func finished(_ row: Int64, bytes: Int) {
        let waiter = state.withLock { state in
            state.kept.subtract(rows: 1, bytes: bytes)
            state.returned.forget(row)
            return state.takeWaiter(of: row)
        }
        waiter?.set(.finished)
        wakeWaiters()
    }

    /// Waits until a message that is dispatched alone has an outcome, or was given back.
    ///
    /// - Parameter dispatch: Dispatches the message, and returns `false` if that was not possible.
    func waitForOutcome(of row: Int64, _ dispatch: () async -> Bool) async -> AloneEnd {
        let outcome = OutcomeSignal()
        let isOpen = state.withLock { state in
            state.alone = (row, outcome)
            return !state.isClosed
        }
        guard isOpen, await dispatch() else {
            noteSurvival(of: row)
            return .closed
        }
        return await outcome.value()
    }

    /// Waits until everything that was recorded before is on disk.
    ///
    /// - Returns: `false` if the journal is closed, or if the program does not wait for the disk any longer.
    func untilRecorded() async -> Bool {
        guard position != nil else { return false }
        let commits = intake.settler.core.pendingCommits
        return await withUnsafeContinuation { continuation in
            let number = commits.add { continuation.resume(returning: false) }
            store.record(StoredSettlement(source: source)) {
                if commits.take(number) { continuation.resume(returning: true) }
            }
        }
    }

    /// Notes that a message was given back, which is dispatched again later, by the next run if the journal is closed.
    func giveBack(_ row: Int64, owner: Owner?) {
        let now = intake.settler.core.now
        let tick = intake.settler.core.configuration.tick
        noteSurvival(of: row)
        let refused = state.withLock { state -> Owner? in
            guard !state.isClosed else { return owner ?? state.owners.removeValue(forKey: row) }
            state.returned.add(row, at: now, tick: tick)
            guard let owner else { return nil }
            guard state.owners.count < Journal.maximumOwners else { return owner }
            state.owners[row] = owner
            return nil
        }
        refused?.sink.settle(refused?.token ?? 0, .abandoned(.kept))
    }

    /// Notes that a message has no outcome, and that the program did not end because of it.
    private func noteSurvival(of row: Int64) {
        guard let waiter = state.withLock({ $0.takeWaiter(of: row) }) else { return }
        store.survivedAlone(row)
        waiter.set(.givenBack)
    }

    /// Returns what waits for the outcome of a message that was read from disk.
    func takeOwner(of row: Int64) -> Owner? { state.withLock { $0.owners.removeValue(forKey: row) } }

    private func wakeWaiters() {
        let waiters = state.withLock { state -> [UnsafeContinuation<Bool, Never>] in
            guard !state.waiters.isEmpty, state.hasRoom(limits, intake.settler.window.limits) else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }
}

// MARK: - Life cycle

extension Journal {
    /// Starts when everything that was recorded before is on disk, also by an earlier journal of the source.
    func start() {
        store.record(StoredSettlement(source: source)) { [self] in
            let lastRow = store.lastRow
            intake.settler.core.startTask { [self] in await JournalBacklog(journal: self).run(startingAfter: lastRow) }
        }
    }

    /// Takes no more arrivals. Messages without an outcome stay in the journal.
    func close() {
        let (owners, waiters, alone) = state.withLock { state in
            state.isClosed = true
            // A message that is dispatched alone may still be given back.
            defer { (state.owners, state.waiters) = ([:], []) }
            // In their order, so that a simulated run can be reproduced.
            return (state.owners.sorted { $0.key < $1.key }.map(\.value), state.waiters, state.alone)
        }
        alone?.outcome.set(.closed)
        for owner in owners { owner.sink.settle(owner.token, .abandoned(.kept)) }
        for waiter in waiters { waiter.resume(returning: false) }
    }

    func tick(_ now: UInt64) {
        let due = state.withLock { $0.isClosed ? [] : $0.returned.takeDue(at: now) }
        let core = intake.settler.core
        if !due.isEmpty { core.startTask { [self] in await JournalBacklog(journal: self).dispatchAgain(due) } }
        if now.isMultiple(of: core.ticksBetweenReports) { checkAge() }
    }

    private func checkAge() {
        guard state.withLock({ $0.kept.rows > 0 || $0.isTooOld }) else { return }
        intake.settler.core.startTask { [self] in
            guard let oldest = try? await .some(store.oldest(of: source)) else { return }
            let isTooOld = oldest.map { $0.duration(to: store.now) > limits.age } ?? false
            state.withLock { $0.isTooOld = isTooOld }
            wakeWaiters()
        }
    }

    private func readBacklog() {
        intake.settler.core.startTask { [self] in await JournalBacklog(journal: self).run(startingAfter: nil) }
    }

    // MARK: For the backlog

    /// Sets what an earlier run has left, and takes arrivals from now on. Without knowing it, the journal would exceed its limits.
    func setUse(_ use: JournalUse) {
        state.withLock { state in
            state.kept.add(rows: use.rows, bytes: use.bytes)
            state.committed = max(state.committed, use.lastRow)
            state.isStarted = true
        }
        wakeWaiters()
    }

    /// The last row that was dispatched, and the last that was committed; `nil` if the journal is closed.
    var position: (dispatched: Int64, committed: Int64)? {
        state.withLock { $0.isClosed ? nil : ($0.dispatched, $0.committed) }
    }

    /// Notes that all rows up to this one were dispatched.
    ///
    func setDispatched(_ row: Int64) {
        state.withLock { $0.dispatched = max($0.dispatched, row) }
    }

    /// Dispatches new arrivals from memory again, if none is left on disk.
    ///
    /// - Parameter row: The last row that was committed before the disk was found to have no more.
    /// - Returns: `false` if there are newer ones.
    func endBacklog(at row: Int64) -> Bool {
        state.withLock { state in
            state.dispatched = max(state.dispatched, row)
            guard state.dispatched >= state.committed else { return false }
            state.isBehind = false
            return true
        }
    }

    func reportReadFailure(_ error: any Error) {
        intake.settler.log.logger.write(.storeUnreadable, "\(error)", [.advice: StoreEvents.advice])
    }
}
