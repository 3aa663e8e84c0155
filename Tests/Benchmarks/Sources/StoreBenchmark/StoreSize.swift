import Foundation
import MarkdownTable
import Signalbox
import SignalboxCore
import SignalboxStore
import Synchronization

/// The size of a store's file while many small messages pass through its journal.
enum StoreSize {
    /// The most that the file and its write-ahead log may need, in bytes.
    private static let bound = 64 << 20
    /// The most messages in the journal. At the limit the source is held back, so the bound does not depend on its speed.
    private static let rows = 10_000
    /// The number of messages between two looks at the files.
    private static let interval = 1_000
    private static let parts = 10

    /// Lets messages pass, and prints the largest size in each tenth of them.
    ///
    /// - Parameter messages: The number of messages, which is rounded to whole tenths.
    /// - Returns: Whether all sizes were within the bound, and the last tenth needed at most twice as much as the first. The log keeps
    ///   its largest size, which one slow checkpoint can raise. A single byte that each of 10,000,000 messages left would be more.
    static func isBounded(messages: Int) async throws -> Bool {
        let part = max(1, messages / parts / interval) * interval
        let count = part * parts
        let sizes = Mutex([Int](repeating: 0, count: parts))
        let start = ContinuousClock.now
        try await StoreTable.inFolder { folder in
            let path = folder + "/store.db"
            let producer = Producer(count: count, text: text) { number in
                guard number.isMultiple(of: interval) else { return }
                let size = size(of: path) + size(of: path + "-wal")
                sizes.withLock { $0[(number - 1) / part] = max($0[(number - 1) / part], size) }
            }
            try await pass(count, producer, path)
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let largest = sizes.withLock { $0 }
        print("\(count) messages, \(Figure.whole(Double(count) / seconds)) a second")
        print("KiB on disk at most, by tenths: \(largest.map { String($0 >> 10) }.joined(separator: " "))")
        let (first, last) = (largest.first ?? 0, largest.last ?? 0)
        let isBounded = largest.allSatisfy { 0 < $0 && $0 < bound } && last <= 2 * first
        print(isBounded ? "the file is bounded" : "the file grows")
        return isBounded
    }

    private static func pass(_ count: Int, _ producer: Producer, _ path: String) async throws {
        let store = try Store(path: path)
        // The messages have a time long ago, which is no reason to hold the source back.
        let limits = JournalLimits(rows: rows, age: .seconds(1_000 * 366 * 86_400))
        let (supervisor, _) = try StoreTable.supervisor(store, producer, limits: limits)
        try await supervisor.run()
        precondition(supervisor.report.total.handled == count, "messages are missing")
        try store.close()
        let administration = try StoreAdministration(path: path)
        let (info, faults) = try (administration.info(), administration.check())
        precondition(info.journal.isEmpty, "messages are left in the journal")
        precondition(faults.isEmpty, "the file is damaged")
    }

    /// A message whose body has 20 bytes.
    private static func text(_ number: Int) -> [UInt8] {
        Array(#"{"action":"payment","body":{"amount":\#(100_000_000 + number)}}"#.utf8)
    }

    private static func size(of path: String) -> Int {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
    }
}
