import Signalbox
import SignalboxCore
import Synchronization
import TestSupport

/// The store of one run. Changes are collected and committed together, after a delay and sometimes not at the first attempt. A change
/// that is not synced when the process dies is lost.
final class SimulatedStore: MessageStore {
    /// A change, and what waits for it.
    enum Change {
        case append([Arrival], committed: @Sendable (Int64) -> Void)
        case settle(StoredSettlement, committed: (@Sendable () -> Void)?)
        case beginAlone(Int64, committed: @Sendable () -> Void)
        case survivedAlone(Int64)
        case flush(done: @Sendable () -> Void)
    }

    private struct State {
        var pending: [Change] = []
        /// Whether a task commits, or waits to do so.
        var isCommitting = false
        /// How many of the next commits fail.
        var failuresLeft = 0
        var isClosed = false
        var random: SeededGenerator
    }

    private let disk: SimulatedDisk
    private let world: SimulationWorld
    private let executor: SeededExecutor
    private let state: Mutex<State>
    private let faults: StoreFaults

    let secret = StoreSecret(words: [1, 2, 3])
    let wasInterrupted: Bool

    init(_ disk: SimulatedDisk, _ world: SimulationWorld, _ executor: SeededExecutor) {
        self.disk = disk
        self.world = world
        self.executor = executor
        faults = world.scenario.journal?.faults ?? StoreFaults()
        wasInterrupted = disk.open()
        state = Mutex(State(random: SeededGenerator(seed: world.scenario.seed ^ 0x5707e)))
    }

    /// Records the start of the run.
    func begin() {
        world.note(.began(run: world.scenario.journal?.number ?? 0, wasInterrupted: wasInterrupted))
    }

    var now: WallTime { world.now }
    var lastRow: Int64 { disk.tables.lastRow }

    func observe(_ onEvent: @escaping @Sendable (StoreEvent) -> Void) {}

    /// Whether no message is unfinished, no change is waiting and no replay is requested.
    var isIdle: Bool {
        state.withLock { $0.pending.isEmpty && !$0.isCommitting } && disk.tables.isIdle
    }
}

// MARK: - Changes

extension SimulatedStore {
    func append(_ arrivals: [Arrival], committed: @escaping @Sendable (Int64) -> Void) {
        add(.append(arrivals, committed: committed))
    }

    func record(_ settlement: StoredSettlement, committed: (@Sendable () -> Void)?) {
        add(.settle(settlement, committed: committed))
    }

    func beginAlone(_ row: Int64) async {
        await withUnsafeContinuation { continuation in add(.beginAlone(row) { continuation.resume() }) }
    }

    func survivedAlone(_ row: Int64) { add(.survivedAlone(row)) }

    func flush() async {
        await withUnsafeContinuation { continuation in add(.flush { continuation.resume() }) }
    }

    private func add(_ change: Change) {
        let (isFirst, isRefused) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed, !world.isDead else { return (false, true) }
            state.pending.append(change)
            defer { state.isCommitting = true }
            return (!state.isCommitting, false)
        }
        if isFirst { Task(executorPreference: executor) { await self.commitPending() } }
        // What is left of a dead run must be able to end.
        guard isRefused else { return }
        if world.isDead { return answer([change]) }
        if case .flush = change { answer([change]) }
        if case .beginAlone = change { answer([change]) }
    }

    private func commitPending() async {
        repeat {
            await world.wait(choose(0...faults.longestCommit))
            await pause()
            guard !world.isDead else { return }
            let changes = take()
            guard !changes.isEmpty else { continue }
            if isFailing() {
                world.note(.commitFailed)
                putBack(changes)
                await world.wait(SimulatedStore.retryDelay)
                continue
            }
            let (firstRows, stored) = disk.commit(changes, world, losesAppended: faults.losesAppended)
            if !stored.isEmpty { world.note(.synced(stored)) }
            await pause()
            for (change, row) in zip(changes, firstRows) {
                guard !world.isDead else { return }
                answer(change, row)
                if choose(1...4) == 1 { await pause() }
            }
        } while !rests()
    }

    /// The delay after a failed commit, in ticks, which is a second.
    private static let retryDelay = 10

    private func take() -> [Change] {
        state.withLock { state in
            guard !state.isClosed else { return [] }
            defer { state.pending = [] }
            return state.pending
        }
    }

    private func rests() -> Bool {
        state.withLock { state in
            state.isCommitting = !state.pending.isEmpty && !state.isClosed
            return !state.isCommitting
        }
    }

    private func putBack(_ changes: [Change]) {
        let flushes = changes.filter { if case .flush = $0 { true } else { false } }
        let others = changes.filter { if case .flush = $0 { false } else { true } }
        state.withLock { $0.pending = others + $0.pending }
        answer(flushes)
    }

    private func isFailing() -> Bool {
        state.withLock { state in
            if state.failuresLeft == 0, state.random.chance(faults.commits) {
                state.failuresLeft = state.random.number(in: 1...3)
            }
            guard state.failuresLeft > 0 else { return false }
            state.failuresLeft -= 1
            return true
        }
    }

    private func answer(_ changes: [Change]) { for change in changes { answer(change, 0) } }

    private func answer(_ change: Change, _ row: Int64) {
        switch change {
        case .append(_, let committed): committed(row)
        case .settle(_, let committed): committed?()
        case .beginAlone(_, let done), .flush(let done): done()
        case .survivedAlone: break
        }
    }
}

// MARK: - Reading

extension SimulatedStore {
    private func choose(_ range: ClosedRange<Int>) -> Int { state.withLock { $0.random.number(in: range) } }

    /// Lets other jobs run.
    private func pause() async {
        for _ in 0..<choose(0...3) { await Task.yield() }
    }

    private func read<Value>(mayFail: Bool = true, _ body: (StoredTables) -> Value) async throws -> Value {
        await pause()
        guard !world.isDead, !(mayFail && state.withLock({ $0.random.chance(faults.reads) })) else {
            world.note(.readFailed)
            throw SimulatedError(isRetryable: true)
        }
        let value = body(disk.tables)
        await pause()
        return value
    }

    func unfinished(of source: SourceName, after row: Int64, count: Int, bytes: Int) async throws
        -> [JournaledMessage]
    {
        try await read { $0.unfinished(of: source, after: row, count: count, bytes: bytes) }
    }

    func journalUse(of source: SourceName, upTo row: Int64) async throws -> JournalUse {
        try await read { $0.use(of: source, upTo: row) }
    }

    func oldest(of source: SourceName) async throws -> WallTime? {
        try await read { tables in tables.rows.first { $0.message.source == source }?.message.receivedAt }
    }

    /// A source whose ids cannot be read begins without any, so the read never fails here.
    func handledIDs(of source: SourceName, count: Int) async throws -> [HandledID] {
        let now = now
        return try await read(mayFail: false) { tables in
            let ids = tables.ids.filter { $0.source == source && $0.id.expiresAt > now }.map(\.id)
            return ids.sorted { $0.expiresAt < $1.expiresAt }.suffix(count)
        }
    }

    func requestedReplays(count: Int) async throws -> [RequestedReplay] {
        try await read { Array($0.requestedReplays.prefix(count)) }
    }
}

// MARK: - The end

extension SimulatedStore {
    /// Marks all dead letters for a replay, as another process does.
    func requestReplays() {
        guard !world.isDead else { return }
        for letter in disk.requestReplays() { world.note(.replayRequested(letter: letter)) }
    }

    /// Commits what is left, unless that fails, and notes that the run was not interrupted.
    func close() {
        guard !world.isDead else { return }
        let changes = take()
        state.withLock { $0.isClosed = true }
        let isLost = !changes.isEmpty && world.scenario.journal?.isLast == false && isFailing()
        if !isLost {
            let (firstRows, stored) = disk.commit(changes, world, losesAppended: false)
            if !stored.isEmpty { world.note(.synced(stored)) }
            for (change, row) in zip(changes, firstRows) { answer(change, row) }
        }
        disk.close()
        world.note(.closed(isLost: isLost))
    }

    /// Ends all waits for the disk of a run that has died.
    func discard() {
        let changes = state.withLock { state in
            defer { state.pending = [] }
            return state.pending
        }
        answer(changes)
    }
}

/// How often the disk fails, and how.
struct StoreFaults: Sendable, Hashable {
    /// The percentage of commits that fail, with up to two further attempts.
    var commits = 0
    /// The percentage of reads that fail.
    var reads = 0
    /// The longest time that a commit takes, in ticks.
    var longestCommit = 0
    /// Whether the disk confirms messages that it does not keep. The invariants must detect it.
    var losesAppended = false
}
