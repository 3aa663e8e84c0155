/// The order of the boxes in both columns. It starts as that of the file, and changes only if fewer arrows then cross.
struct GraphOrder {
    /// An arrow between a row of a source and a row of a plugin.
    struct Link {
        let source: Int
        let sourceRow: Int
        let plugin: Int
        let pluginRow: Int
    }

    /// The numbers of the sources and of the plugins, from top to bottom.
    private(set) var sources: [Int]
    private(set) var plugins: [Int]

    /// The number of passes over both columns.
    private static let passes = 8

    /// - Parameters:
    ///   - sourceRows: The number of rows of each source.
    ///   - pluginRows: The number of rows of each plugin.
    init(sourceRows: [Int], pluginRows: [Int], links: [Link]) {
        sources = Array(sourceRows.indices)
        plugins = Array(pluginRows.indices)
        var best = self
        var crossings = best.crossings(of: links, sourceRows, pluginRows)
        for pass in 0..<(2 * GraphOrder.passes) where crossings > 0 {
            let (sourceTops, pluginTops) = (Self.tops(sources, sourceRows), Self.tops(plugins, pluginRows))
            if pass.isMultiple(of: 2) {
                plugins = Self.sorted(plugins, by: links.map { ($0.plugin, sourceTops[$0.source] + $0.sourceRow) })
            } else {
                sources = Self.sorted(sources, by: links.map { ($0.source, pluginTops[$0.plugin] + $0.pluginRow) })
            }
            let now = self.crossings(of: links, sourceRows, pluginRows)
            if now < crossings { (best, crossings) = (self, now) }
        }
        self = best
    }

    /// Returns the position of the first row of each box.
    private static func tops(_ order: [Int], _ rows: [Int]) -> [Int] {
        var (tops, next) = (rows, 0)
        for box in order {
            tops[box] = next
            next += rows[box]
        }
        return tops
    }

    /// Sorts boxes by the mean position of the rows that they are linked to (the barycentre). Boxes without links come
    /// last.
    private static func sorted(_ order: [Int], by links: [(box: Int, position: Int)]) -> [Int] {
        var sums: [Int: (sum: Int, count: Int)] = [:]
        for link in links {
            let (sum, count) = sums[link.box] ?? (0, 0)
            sums[link.box] = (sum + link.position, count + 1)
        }
        let means = order.enumerated().map { place, box in
            (mean: sums[box].map { Double($0.sum) / Double($0.count) } ?? .infinity, place: place, box: box)
        }
        return means.sorted { ($0.mean, $0.place) < ($1.mean, $1.place) }.map(\.box)
    }

    /// Returns how many pairs of links cross.
    private func crossings(of links: [Link], _ sourceRows: [Int], _ pluginRows: [Int]) -> Int {
        let (sourceTops, pluginTops) = (Self.tops(sources, sourceRows), Self.tops(plugins, pluginRows))
        let ends = links.map { (sourceTops[$0.source] + $0.sourceRow, pluginTops[$0.plugin] + $0.pluginRow) }.sorted {
            $0 < $1
        }
        // A Fenwick tree of the ends on the right that were seen, in which each sum takes logarithmic time.
        var tree = Array(repeating: 0, count: pluginRows.reduce(1, +) + 1)
        var crossings = 0
        for (seen, end) in ends.enumerated() {
            var (place, notBelow) = (end.1 + 1, 0)
            while place > 0 {
                notBelow += tree[place]
                place &= place - 1
            }
            crossings += seen - notBelow
            place = end.1 + 1
            while place < tree.count {
                tree[place] += 1
                place += place & -place
            }
        }
        return crossings
    }
}
