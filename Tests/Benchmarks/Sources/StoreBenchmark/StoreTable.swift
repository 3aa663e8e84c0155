import Foundation
import Logging
import MarkdownTable
import Signalbox
import SignalboxCore
import SignalboxStore
import SignalboxTesting
import Synchronization

/// Messages a second through the journal, beside bare SQLite with the same inserts, and the start with many unfinished messages.
enum StoreTable {
    static let batch = 100
    static let messages = 20_000

    private struct Payment: Decodable, Sendable {
        let amount: Int
    }

    static func print(rounds: Int, unfinished: Int) async throws {
        var bare: [Double] = []
        var committed: [Double] = []
        var handled: [Double] = []
        for _ in 0..<rounds {
            bare.append(try inFolder { try bareRate(at: $0 + "/bare.db") })
            committed.append(try await inFolder { try await commitRate(at: $0 + "/store.db") })
            handled.append(try await inFolder { try await journalRate(at: $0 + "/store.db") })
        }
        var table = MarkdownTable("store", columns: ["variant", "messages a second", "times bare SQLite", "bar"])
        let base = Figure.median(bare)
        table.add(["bare SQLite, C interface, one commit after the other", Figure.whole(base), "1.00", ""])
        for (name, rates) in [
            ("`Store.append`, the next batch during a commit", committed),
            ("journal: committed, handled, deleted", handled),
        ] {
            let rate = Figure.median(rates)
            let ratio = Figure.median(zip(rates, bare).map { $0 / $1 })
            table.add([
                name, Figure.whole(rate), Figure.ratio(ratio), Figure.verdict(ratio >= 0.8 && rate >= 20_000, bar: 0.8),
            ])
        }
        table.print()
        let seconds = try await inFolder { try await startTime(at: $0 + "/store.db", unfinished: unfinished) }
        var start = MarkdownTable(
            "store-start",
            columns: ["unfinished messages", "seconds to the first dispatch", "bar"]
        )
        start.add([Figure.whole(Double(unfinished)), Figure.ratio(seconds), Figure.verdict(seconds < 5, bar: 5)])
        start.print()
    }

    static func inFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "store-benchmark-\(UUID().uuidString)"
        ).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }

    private static func inFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "store-benchmark-\(UUID().uuidString)"
        ).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }

    /// A message of 200 bytes.
    static func text(_ number: Int) -> [UInt8] {
        let id = "payment-\(number)"
        let start = #"{"action":"payment","id":"\#(id)","body":{"amount":\#(number),"note":""#
        return Array((start + String(repeating: "x", count: max(0, 200 - start.utf8.count - 3)) + "\"}}").utf8)
    }

    static func arrivals(
        _ first: Int,
        _ batches: inout ArrivalBatch,
        _ origin: Origin,
        _ text: (Int) -> [UInt8] = text
    ) -> [Arrival] {
        for number in first..<first + batch {
            text(number).withUnsafeBytes {
                batches.append($0, token: UInt64(number), origin: origin, receivedAt: WallTime(seconds: 1_000))
            }
        }
        return batches.take()
    }

    private static func rate(since start: ContinuousClock.Instant) -> Double {
        Double(messages) / (start.duration(to: .now) / .seconds(1))
    }

    private static func bareRate(at path: String) throws -> Double {
        let database = try BareSQLite(path: path)
        let texts = (0..<messages).map(text)
        let ids = (0..<messages).map { Array("payment-\($0)".utf8) }
        let start = ContinuousClock.now
        for first in stride(from: 0, to: messages, by: batch) {
            try database.insert(Array(texts[first..<first + batch]), ids: Array(ids[first..<first + batch]))
        }
        return rate(since: start)
    }

    private static func commitRate(at path: String) async throws -> Double {
        let store = try Store(path: path)
        var batches = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: InMemoryFacts())
        let start = ContinuousClock.now
        let room = Room(4)
        for first in stride(from: 0, to: messages, by: batch) {
            await room.take()
            store.append(arrivals(first, &batches, origin)) { _ in room.give() }
        }
        await store.flush()
        let result = rate(since: start)
        try store.close()
        return result
    }

    private static func journalRate(at path: String) async throws -> Double {
        let store = try Store(path: path)
        let (supervisor, adapter) = try supervisor(store, Producer(count: messages))
        let start = ContinuousClock.now
        try await supervisor.run()
        let result = rate(since: start)
        precondition(supervisor.report.total.handled == messages && adapter.isDone, "messages are missing")
        try store.close()
        return result
    }

    static func supervisor(
        _ store: Store,
        _ adapter: Producer,
        limits: JournalLimits = JournalLimits()
    ) throws -> (Supervisor, Producer) {
        var configuration = SupervisorConfiguration()
        configuration.store = store
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let supervisor = Supervisor(configuration: configuration, logger: logger)
        let rule = AccessRule("any source of the benchmark") { _ in true }
        try supervisor.register(
            Registration("payment", as: Payment.self, from: rule) { [adapter] _, _ in adapter.noteCall() }
        )
        try supervisor.add(adapter, deduplication: .never, durability: .journal(limits))
        return (supervisor, adapter)
    }

    /// Returns the time from the opening of a store to the first call of a plugin, in seconds.
    private static func startTime(at path: String, unfinished: Int) async throws -> Double {
        let store = try Store(path: path)
        var batches = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: InMemoryFacts())
        let room = Room(64)
        for first in stride(from: 0, to: unfinished, by: batch) {
            await room.take()
            store.append(arrivals(first, &batches, origin)) { _ in room.give() }
        }
        await store.flush()
        try store.close()
        let start = ContinuousClock.now
        let next = try Store(path: path)
        let (supervisor, adapter) = try supervisor(next, Producer(count: 0))
        let running = Task { try await supervisor.run() }
        await adapter.firstCall()
        let seconds = start.duration(to: .now) / .seconds(1)
        running.cancel()
        try? await running.value
        try next.close()
        return seconds
    }
}
