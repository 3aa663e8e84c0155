extension RouteTable {
    /// The number of routes that ``nearest(to:)`` compares, so that a link without a route costs a bounded time.
    package static var comparedRoutes: Int { 256 }

    /// Returns the pattern most like a URL that no pattern matches, for a message to the author of the routes: by scheme,
    /// form, host and segments. The first ``comparedRoutes`` routes are compared; of equally near ones the first counts.
    package func nearest(to url: URLText) -> URLPattern? {
        let root = RouteRoot(of: url)
        let pieces = URLPieces(url)
        let texts = Array(root.form == .authority ? [pieces.host] : []) + pieces.segments.prefix(URLDistance.pieces)
        let distance = URLDistance(root: root, pieces: texts.filter { !$0.isEmpty })
        let costs = patterns(RouteTable.comparedRoutes).map { (pattern: $0, cost: distance.cost(of: $0)) }
        return costs.min { $0.cost < $1.cost }?.pattern
    }
}

/// Estimates how many parts of a URL must change so that a pattern matches.
private struct URLDistance {
    /// The number of segments that count.
    static let pieces = 16
    /// A literal is compared letter by letter up to this length in bytes.
    private static let comparedBytes = 32

    let root: RouteRoot
    /// The host and the segments, without empty ones: `myapp:///product` and `myapp://product` differ in form alone.
    let pieces: [String]

    func cost(of pattern: URLPattern) -> Int {
        var cost = 0
        if pattern.root.form != .anywhere {
            cost += pattern.root.scheme == root.scheme ? 0 : change(pattern.root.scheme, root.scheme) * 4
            cost += pattern.root.port == root.port ? 0 : 2
            cost += pattern.root.form == root.form ? 0 : 1
        }
        var position = 0
        for element in pattern.elements {
            if case .capture(_, .rest) = element { return cost }
            if case .literal(let text) = element, text.isEmpty { continue }
            guard position < pieces.count else {
                cost += 2
                continue
            }
            cost += self.cost(of: element, at: position)
            position += 1
        }
        return cost + (pieces.count - position) * 2
    }

    private func cost(of element: RouteElement, at position: Int) -> Int {
        switch element {
        case .literal(let text): change(text, pieces[position])
        case .capture(_, let kind): kind.accepts(pieces[position].utf8) ? 0 : 1
        }
    }

    /// Returns 0 for the same text, 1 for one that resembles it, and 3 for another one.
    private func change(_ text: String, _ other: String) -> Int {
        let longest = max(text.utf8.count, other.utf8.count)
        guard longest <= URLDistance.comparedBytes else { return text == other ? 0 : 3 }
        let (text, other) = (text.lowercased().utf8, other.lowercased().utf8)
        if text.elementsEqual(other) { return 0 }
        return edits(Array(text), Array(other)) <= max(1, text.count / 3) ? 1 : 3
    }

    /// Returns the number of letters to add, drop or replace.
    private func edits(_ text: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (index, byte) in text.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let replaced = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
