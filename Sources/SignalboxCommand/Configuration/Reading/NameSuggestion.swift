/// Finds the known name that a mistyped one was probably meant to be.
enum NameSuggestion {
    /// `; did you mean 'x'?` or nothing.
    static func advice(for name: String, among known: [String]) -> String {
        nearest(to: name, among: known).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// The name with the fewest edits, when these are at most a third of its length and one at least is allowed.
    static func nearest(to name: String, among known: [String]) -> String? {
        guard name.count <= 64 else { return nil }
        let lower = name.lowercased().replacing("-", with: "_")
        let measured = known.map { (name: $0, edits: edits(Array(lower), Array($0))) }
        guard let best = measured.min(by: { $0.edits < $1.edits }) else { return nil }
        return best.edits <= max(1, best.name.count / 3) ? best.name : nil
    }

    /// Levenshtein's distance, in which two neighbours that changed places count as one edit.
    private static func edits(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let change = last[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(change, last[column + 1] + 1, current[column] + 1)
                let isSwap = row > 0 && column > 0 && left[row] == right[column - 1] && left[row - 1] == right[column]
                if isSwap { best = min(best, beforeLast[column - 1] + 1) }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
