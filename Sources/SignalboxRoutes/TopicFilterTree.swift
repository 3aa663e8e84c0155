/// Filters that are added one by one, each of which is compared with all earlier ones at once.
///
/// The filters form a tree of their levels, so that an addition usually looks at a few nodes only. One with many `+` looks
/// at each node once, in the worst case.
package struct TopicFilterTree {
    /// The number of levels that are compared. All filters that are the same up to there count as overlapping.
    private static let depth = 32

    private struct Node {
        /// The nodes of the levels without a wildcard.
        var literals: [ArraySlice<UInt8>: Int] = [:]
        /// The node of `+`.
        var single: Int?
        /// Whether a filter continues with `#`.
        var hasRest = false
        /// Whether a filter ends here.
        var isEnd = false
    }

    private var nodes = [Node()]

    /// Creates a tree without filters.
    package init() {}

    /// Adds a filter. The name of a shared subscription's group does not matter.
    ///
    /// - Returns: Whether there may be a topic that both this filter and an earlier one match. If the result is `false`,
    ///   there is none.
    package mutating func insert(_ filter: TopicFilter) -> Bool {
        let levels = TopicFilterTree.levels(of: filter)
        defer { add(levels) }
        return overlaps(levels)
    }

    private static func levels(of filter: TopicFilter) -> [ArraySlice<UInt8>] {
        let all = filter.levels
        guard all.count > depth else { return all }
        return all.prefix(depth) + [[TopicGrammar.multiLevel]]
    }

    private mutating func add(_ levels: [ArraySlice<UInt8>]) {
        var index = 0
        for level in levels {
            if level.isRest {
                nodes[index].hasRest = true
                return
            }
            let known = level.isSingle ? nodes[index].single : nodes[index].literals[level]
            let next = known ?? nodes.count
            if known == nil { nodes.append(Node()) }
            if level.isSingle { nodes[index].single = next } else { nodes[index].literals[level] = next }
            index = next
        }
        nodes[index].isEnd = true
    }

    private func overlaps(_ levels: [ArraySlice<UInt8>]) -> Bool {
        var open = [(node: 0, position: 0)]
        while let (index, position) = open.popLast() {
            let node = nodes[index]
            // A wildcard at the first level does not match a topic that begins with '$' (MQTT 5.0, 4.7.2).
            let isFirst = position == 0
            guard position < levels.count else {
                if node.isEnd || node.hasRest { return true }
                continue
            }
            let level = levels[position]
            if node.hasRest, !isFirst || !level.isSystem { return true }
            let literals = node.literals.lazy.filter { !isFirst || !$0.key.isSystem }
            if level.isRest {
                // Each node leads to a filter.
                if !isFirst || node.single != nil || !literals.isEmpty { return true }
            } else if level.isSingle {
                open += literals.map { ($0.value, position + 1) }
                if let single = node.single { open.append((single, position + 1)) }
            } else {
                if let next = node.literals[level] { open.append((next, position + 1)) }
                if let single = node.single, !isFirst || !level.isSystem { open.append((single, position + 1)) }
            }
        }
        return false
    }
}

extension ArraySlice<UInt8> {
    fileprivate var isRest: Bool { count == 1 && first == TopicGrammar.multiLevel }
    fileprivate var isSingle: Bool { count == 1 && first == TopicGrammar.singleLevel }
    /// Whether the level begins a topic of the broker, such as `$SYS`.
    fileprivate var isSystem: Bool { first == TopicGrammar.dollar }
}
