import SignalboxCore
import Synchronization

/// Recognises the messages of one source that come again. Any thread.
final class SourceRepeats: Sendable {
    private let table: Mutex<RepeatTable>
    private let hash = SeededHash()

    init(_ limits: RepeatLimits, _ configuration: SupervisorConfiguration) {
        let ticks = TickCount.ticks(in: limits.time, of: configuration.tick)
        table = Mutex(RepeatTable(count: limits.count, ticks: ticks, bytes: limits.bytes))
    }

    /// What is remembered about an arrival that its access rule lets through. One that follows another is kept here, and
    /// comes back from ``settle(_:_:at:)`` of that one.
    func ask(_ arrival: Arrival, sink: any SettlementSink, at now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.ask(key, content: content, arrival, sink: sink, at: now) }
    }

    /// What ``ask(_:sink:at:)`` would answer; nothing is remembered.
    func look(at arrival: Arrival, now: UInt64) -> RepeatAnswer {
        guard arrival.hasSendersID else { return .first }
        let key = RepeatKey(arrival, hash)
        let content = arrival.contentHash(hash)
        return table.withLock { $0.look(at: key, content: content, now: now) }
    }

    /// Notes the outcome of any arrival of the source.
    ///
    /// - Returns: those that wait for it, to be settled alike.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> [RepeatFollower] {
        guard arrival.isReadable, arrival.hasSendersID else { return [] }
        let key = RepeatKey(arrival, hash)
        var isHandled = false
        var kept: Bytes?
        if case .handled(let reply) = outcome {
            isHandled = true
            // What a plugin answers may be a range of its batch.
            kept = reply?.copied()
        }
        return table.withLock { $0.settle(key, arrival, isHandled: isHandled, reply: kept, at: now) }
    }

    /// Forgets what was handled too long ago, where no message comes that would see to it.
    func tick(_ now: UInt64) {
        table.withLock { $0.forgetExpired(at: now) }
    }
}
