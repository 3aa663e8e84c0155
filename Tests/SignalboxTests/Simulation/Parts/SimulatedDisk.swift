import Signalbox
import SignalboxCore
import Synchronization

/// What is synced, and outlives the process.
final class SimulatedDisk: Sendable {
    private struct State {
        var tables = StoredTables()
        /// Whether a process has opened the store and has not closed it.
        var isOpen = false
    }

    private let state = Mutex(State())

    var tables: StoredTables { state.withLock { $0.tables } }

    /// - Returns: Whether the process before has not closed the store.
    func open() -> Bool {
        state.withLock { state in
            defer { state.isOpen = true }
            state.tables.restart()
            return state.isOpen
        }
    }

    func close() { state.withLock { $0.isOpen = false } }

    /// Makes changes in one step.
    ///
    /// - Returns: The first row of each change, and what has changed.
    func commit(_ changes: [SimulatedStore.Change], _ world: SimulationWorld, losesAppended: Bool)
        -> (firstRows: [Int64], stored: [StoredChange])
    {
        state.withLock { state in
            var stored: [StoredChange] = []
            let rows = changes.map { change -> Int64 in
                let before = state.tables
                let row = state.tables.make(change, world, &stored)
                if losesAppended, case .append = change { state.tables.rows = before.rows }
                return row
            }
            return (rows, stored)
        }
    }

    /// Marks all letters for a replay.
    ///
    /// - Returns: Their numbers.
    func requestReplays() -> [Int64] {
        state.withLock { state in
            for position in state.tables.letters.indices { state.tables.letters[position].isRequested = true }
            return state.tables.letters.map(\.number)
        }
    }
}

/// The tables of a simulated store.
struct StoredTables: Sendable {
    struct Row: Sendable {
        let row: Int64
        /// The number of the row in the log of the simulation, where no number is used again.
        let number: Int
        var crashes = 0
        let message: StoredMessage
    }

    struct Letter: Sendable {
        let number: Int64
        var message: StoredMessage
        var isRequested = false
    }

    var rows: [Row] = []
    var letters: [Letter] = []
    var ids: [(source: SourceName, id: HandledID)] = []
    private var nextRow: Int64 = 1
    private var lastNumber = 0
    private var lastLetter: Int64 = 0

    var lastRow: Int64 { nextRow - 1 }

    var isIdle: Bool { rows.isEmpty && !letters.contains(where: \.isRequested) }

    /// The next run uses the numbers of rows again that were removed at the end, as SQLite does.
    mutating func restart() { nextRow = (rows.last?.row ?? 0) + 1 }
}

// MARK: - Changes

extension StoredTables {
    /// Makes a change, and adds it to the log.
    ///
    /// - Returns: The first row that was appended, or 0.
    fileprivate mutating func make(
        _ change: SimulatedStore.Change,
        _ world: SimulationWorld,
        _ log: inout [StoredChange]
    ) -> Int64 {
        switch change {
        case .append(let arrivals, _):
            let first = nextRow
            for arrival in arrivals { log.append(append(arrival, world)) }
            return first
        case .settle(let settlement, _): settle(settlement, world, &log)
        case .beginAlone(let row, _):
            guard let position = rows.firstIndex(where: { $0.row == row }) else { break }
            rows[position].crashes += 1
            log.append(.beganAlone(row: rows[position].number))
        case .survivedAlone(let row):
            guard let position = rows.firstIndex(where: { $0.row == row }) else { break }
            rows[position].crashes = 0
            log.append(.survivedAlone(row: rows[position].number))
        case .flush: break
        }
        return 0
    }

    private mutating func append(_ arrival: Arrival, _ world: SimulationWorld) -> StoredChange {
        lastNumber += 1
        let copy = JournalCopy.row(lastNumber)
        var mark = ArrivalMark(source: -1, token: arrival.token)
        if case .memory(let offered) = world.copy(of: arrival) { mark = offered }
        world.identify(arrival, as: copy)
        var message = StoredMessage(arrival, facts: copy.facts, at: world.now)
        // Nothing on disk may refer to the memory of a process.
        message.original = Bytes(Array(message.original))
        rows.append(Row(row: nextRow, number: lastNumber, message: message))
        nextRow += 1
        return .appended(row: lastNumber, message: world.message(of: arrival), mark)
    }

    private mutating func settle(
        _ settlement: StoredSettlement,
        _ world: SimulationWorld,
        _ log: inout [StoredChange]
    ) {
        let finished = rows.first { $0.row == settlement.row }?.number
        rows.removeAll { $0.row == settlement.row }
        if let finished { log.append(.finished(row: finished)) }
        if let id = settlement.handledID { log.append(remember(id, of: settlement.source, world)) }
        switch (settlement.deadLetter, settlement.replayed) {
        case (let letter?, nil): log.append(add(letter, of: finished, world))
        case (.some, let number?):
            guard let position = letters.firstIndex(where: { $0.number == number }) else { return }
            letters[position].isRequested = false
            log.append(.letterKept(letter: number))
        case (nil, let number?):
            letters.removeAll { $0.number == number }
            log.append(.letterRemoved(letter: number))
        case (nil, nil): break
        }
    }

    private mutating func add(_ letter: StoredDeadLetter, of row: Int?, _ world: SimulationWorld) -> StoredChange {
        lastLetter += 1
        var message = letter.message
        message.facts = JournalCopy.letter(lastLetter).facts
        message.original = Bytes(Array(message.original))
        letters.append(Letter(number: lastLetter, message: message))
        let index = world.message(in: message.original)
        return .letterAdded(letter: lastLetter, message: index, reason: letter.reason, row: row)
    }

    private mutating func remember(_ id: HandledID, of source: SourceName, _ world: SimulationWorld) -> StoredChange {
        ids.removeAll { $0.source == source && $0.id.id == id.id }
        ids.append((source, id))
        let until = WallTime(seconds: 0).duration(to: id.expiresAt) / Simulation.tick
        return .remembered(
            source: world.scenario.sources.firstIndex { $0.name == source } ?? 0,
            id: id.id.text,
            content: id.content,
            until: Int(until)
        )
    }
}

// MARK: - Reading

extension StoredTables {
    func unfinished(of source: SourceName, after row: Int64, count: Int, bytes: Int) -> [JournaledMessage] {
        var size = 0
        return rows.filter { $0.message.source == source && $0.row > row }.prefix(count)
            .prefix { row in
                defer { size += row.message.original.count }
                return size < bytes
            }
            .map { JournaledMessage(row: $0.row, crashes: $0.crashes, message: $0.message) }
    }

    func use(of source: SourceName, upTo row: Int64) -> JournalUse {
        let own = rows.filter { $0.message.source == source && $0.row <= row }
        let bytes = own.reduce(0) { $0 + $1.message.original.count }
        return JournalUse(rows: own.count, bytes: bytes, lastRow: own.last?.row ?? 0)
    }

    var requestedReplays: [RequestedReplay] {
        letters.filter(\.isRequested).map { RequestedReplay(letter: $0.number, message: $0.message, action: nil) }
    }
}
