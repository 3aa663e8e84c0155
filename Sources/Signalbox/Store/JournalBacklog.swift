import SignalboxCore
import Synchronization

/// Reads messages of one source from its journal and dispatches them, in order.
struct JournalBacklog {
    let journal: Journal

    /// How many messages are read at once, and how many bytes.
    private static let chunk = (messages: 256, bytes: 1 << 20)

    /// The delay after the store could not be read.
    private static let retryDelay = Duration.seconds(1)

    /// Dispatches what an earlier run has left. After that, and whenever the source has fallen behind, dispatches everything that
    /// was not dispatched yet.
    ///
    /// - Parameter lastRow: The last row of an earlier run, or `nil` if this is not the start.
    func run(startingAfter lastRow: Int64?) async {
        var left: Int64 = 0
        if let lastRow {
            let use = await read { try await journal.store.journalUse(of: journal.source, upTo: lastRow) }
            guard let use else { return }
            journal.setUse(use)
            left = use.lastRow
            if isSearchNeeded, use.rows > 0, await !dispatchSuspects(upTo: left) { return }
        }
        while let position = journal.position {
            do { try await journal.intake.room() } catch { return }
            let messages = await read {
                try await journal.store.unfinished(
                    of: journal.source,
                    after: position.dispatched,
                    count: JournalBacklog.chunk.messages,
                    bytes: JournalBacklog.chunk.bytes
                )
            }
            guard let messages else { return }
            // Later rows are on disk too, but their senders are not known yet.
            let known = Array(messages.prefix { $0.row <= position.committed })
            guard let last = known.last else {
                if journal.endBacklog(at: position.committed) { return }
                continue
            }
            guard await dispatch(known, isRedelivered: { $0 <= left }) else { return }
            journal.setDispatched(last.row)
        }
    }

    /// Whether a message may have ended an earlier run. This is true once for each source.
    private var isSearchNeeded: Bool {
        guard journal.store.wasInterrupted else { return false }
        return journal.intake.settler.core.searchedSources.withLock { $0.insert(journal.source).inserted }
    }

    /// Dispatches messages that plugins gave back.
    func dispatchAgain(_ rows: [Int64]) async {
        for row in rows {
            let messages = await read {
                try await journal.store.unfinished(of: journal.source, after: row - 1, count: 1, bytes: .max)
            }
            guard let message = messages?.first, message.row == row else { continue }
            guard await dispatch([message], isRedelivered: { _ in true }) else { return }
        }
    }

    /// Submits messages to the source's ordinary intake.
    ///
    /// - Returns: `false` if the intake takes no more.
    private func dispatch(_ messages: [JournaledMessage], isRedelivered: (Int64) -> Bool) async -> Bool {
        var rest = restored(messages, isRedelivered)[...]
        var rows = messages.map(\.row)[...]
        while !rest.isEmpty {
            let sink = JournalSink(journal, Array(rest), rows: Array(rows), adapter: nil)
            let taken = journal.intake.submit(Array(rest), to: sink)
            rest = rest.dropFirst(taken)
            rows = rows.dropFirst(taken)
            guard !rest.isEmpty else { break }
            do { try await journal.intake.room() } catch { return false }
        }
        return true
    }

    private func restored(_ messages: [JournaledMessage], _ isRedelivered: (Int64) -> Bool) -> [Arrival] {
        var arrivals = journal.adapter.restore(messages.map(\.message), at: journal.store.now)
        for position in arrivals.indices where isRedelivered(messages[position].row) {
            arrivals[position].isRedelivered = true
        }
        return arrivals
    }

    /// Reads from the store. If that fails, it is logged and tried again.
    ///
    /// - Returns: The result, or `nil` if the journal is closed.
    private func read<Value: Sendable>(_ body: () async throws -> Value) async -> Value? {
        while journal.position != nil {
            do { return try await body() } catch { journal.reportReadFailure(error) }
            try? await journal.intake.settler.core.clock.sleep(for: JournalBacklog.retryDelay)
        }
        return nil
    }
}

// MARK: - After a crash

extension JournalBacklog {
    /// How often the program may end while a message is in progress before the message becomes a dead letter.
    static let maximumCrashes = 3

    /// Dispatches the messages that may have been in progress when the program ended, one at a time. Each is counted before it is
    /// dispatched, so that the one that ends the program is found.
    ///
    /// - Returns: `false` if the intake takes no more.
    private func dispatchSuspects(upTo last: Int64) async -> Bool {
        var remaining = journal.intake.settler.window.limits.arrivals
        while remaining > 0, let position = journal.position, position.dispatched < last {
            let messages = await read {
                try await journal.store.unfinished(
                    of: journal.source,
                    after: position.dispatched,
                    count: min(remaining, JournalBacklog.chunk.messages),
                    bytes: JournalBacklog.chunk.bytes
                )
            }
            guard let messages else { return false }
            for message in messages where message.row <= last {
                switch await dispatchSuspect(message) {
                case .finished: remaining -= 1
                // It may be here in addition to a full window: what is given back waits outside of it.
                case .givenBack: break
                case .closed: return false
                }
                journal.setDispatched(message.row)
            }
            guard !messages.isEmpty else { break }
        }
        // If the program ends during a later message, the next search must not begin with the same ones again.
        return await journal.untilRecorded()
    }

    private func dispatchSuspect(_ message: JournaledMessage) async -> AloneEnd {
        // The store did not count the crash that made the message a suspect: several messages may have been in progress.
        if message.crashes + 1 >= JournalBacklog.maximumCrashes {
            let rejection = Outcome.Rejection(
                .crashedPlugin,
                detail: "the program ended \(message.crashes + 1) times while it handled this message"
            )
            let arrivals = restored([message]) { _ in true }
            let sink = JournalSink(journal, arrivals, rows: [message.row], adapter: nil)
            while !journal.intake.reject(arrivals, rejection, to: sink) {
                do { try await journal.intake.room() } catch { return .closed }
            }
            // The next message may be what ended the program after this one was rejected, but before that was on disk.
            return .givenBack
        }
        await journal.store.beginAlone(message.row)
        return await journal.waitForOutcome(of: message.row) {
            await dispatch([message], isRedelivered: { _ in true })
        }
    }
}
