/// How far the graceful end of a page has come, once all its messages have their outcomes.
struct LastWords {
    /// How often a page that calls again when it is answered `drain` is answered.
    private static let mostRounds = 100

    private(set) var haveBegun = false
    /// The page was told that it ends; it settles its calls by itself then.
    private(set) var haveEnded = false
    private var rounds = 0

    /// - Returns: whether they begin now.
    mutating func begin() -> Bool {
        defer { haveBegun = true }
        return !haveBegun
    }

    mutating func end() {
        haveEnded = true
    }

    /// One more script tells the page outcomes.
    mutating func countRound() {
        if haveBegun { rounds += 1 }
    }

    var areTooMany: Bool { rounds > LastWords.mostRounds }
}
