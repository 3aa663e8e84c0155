/// What the ledgers say after a row of the matrix, in words that are the same in each run.
struct CrashResult: Hashable, Sendable {
    let acknowledged: Int
    let lost: Int
    let repeated: Int
    let row: CrashRow

    /// - Parameters:
    ///   - acknowledged: the numbers that the broker acknowledged to the publisher.
    ///   - handled: the numbers that the plugin wrote to its ledger, in that order.
    init(acknowledged: [String], handled: [String], row: CrashRow) {
        self.acknowledged = acknowledged.count
        lost = Set(acknowledged).subtracting(handled).count
        repeated = handled.count - Set(handled).count
        self.row = row
    }

    /// Whether what is promised was kept: nothing is lost, or else nothing comes twice, as nobody sends it again.
    var isKept: Bool { row.promisesEverything ? lost == 0 : repeated == 0 }

    /// The columns that say what came of it. How many come again is chance, that some may is not.
    var cells: [String] {
        [
            "\(acknowledged)", row.promisesEverything ? "nothing" : "not promised", lost == 0 ? "0" : "some",
            row.promisesEverything ? "possible" : "\(repeated)",
        ]
    }
}
