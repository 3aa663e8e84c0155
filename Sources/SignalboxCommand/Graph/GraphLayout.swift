/// Where the boxes and arrows of a picture are. All lengths are whole pixels, so that a picture is the same on each
/// system.
struct GraphLayout {
    struct Point: Equatable {
        let x: Int
        let y: Int
    }

    struct Row {
        let text: String
        let style: RowStyle
        /// A text beside it, such as the kind of a source.
        var note: String?
        /// The middle of the text.
        let middle: Point
    }

    enum RowStyle: String {
        case name, row
    }

    struct Box {
        let x: Int
        let y: Int
        let width: Int
        let height: Int
        let rows: [Row]
        /// The heights of the lines that separate groups of rows.
        var separators: [Int] = []
        var isDashed = false

        var bottom: Int { y + height }
        var right: Int { x + width }
    }

    struct Arrow {
        enum Kind: String {
            case call, forward
        }

        let kind: Kind
        let from: Point
        let to: Point
        /// What the arrow says, for its tooltip.
        let label: String
    }

    /// Measures, in pixels. A letter is a bit wider than in any usual monospaced font.
    enum Measure {
        static let (cell, row, margin, padding, gap, minimumGutter) = (8, 20, 16, 12, 20, 150)
        static let (heading, legend, chipGap, minimumWidth) = (26, 40, 30, 460)
    }

    /// The boxes in the order of the graph.
    private(set) var sources: [Box] = []
    private(set) var plugins: [Box] = []
    /// The handlers of the navigation chain, and what happens after the last.
    private(set) var navigation: [Box] = []
    private(set) var arrows: [Arrow] = []
    /// The left edges of the headings over the columns, and their common middle.
    private(set) var headings: (sources: Int, plugins: Int, middle: Int)
    /// The middle of the heading of the navigation chain.
    private(set) var navigationHeading: Int?
    private(set) var width = 0
    private(set) var height = 0
    /// The middle of the legend.
    var legend: Int { height - Measure.margin - 8 }

    init(_ graph: ConfigurationGraph) {
        let drafts = (sources: graph.sources.map(Draft.init), plugins: graph.plugins.map(Draft.init))
        let order = GraphOrder(
            sourceRows: drafts.sources.map(\.rows.count),
            pluginRows: drafts.plugins.map(\.rows.count),
            links: GraphLayout.links(of: graph)
        )
        let widths = (drafts.sources.map(\.width).max() ?? 0, drafts.plugins.map(\.width).max() ?? 0)
        let arrowCount = graph.calls.count + graph.forwards.count
        let gutter = min(360, Measure.minimumGutter + 6 * arrowCount)
        let pluginX = Measure.margin + widths.0 + gutter
        headings = (Measure.margin, pluginX, Measure.margin + Measure.heading / 2 - 4)
        let top = Measure.margin + Measure.heading
        var columns = GraphColumns(sources: drafts.sources, plugins: drafts.plugins, order: order, top: top)
        columns.align(GraphLayout.links(of: graph))
        sources = drafts.sources.indices.map {
            drafts.sources[$0].box(x: Measure.margin, y: columns.sourceTops[$0], width: widths.0)
        }
        plugins = drafts.plugins.indices.map {
            drafts.plugins[$0].box(x: pluginX, y: columns.pluginTops[$0], width: widths.1)
        }
        width = max(pluginX + widths.1 + Measure.margin, Measure.minimumWidth)
        height = (sources + plugins).map(\.bottom).max() ?? top
        addArrows(graph)
        addNavigation(graph.navigation)
        height += Measure.legend + Measure.margin
    }

    /// Returns the arrows as links between the rows of the boxes.
    private static func links(of graph: ConfigurationGraph) -> [GraphOrder.Link] {
        let calls = graph.calls.map { call in
            GraphOrder.Link(
                source: call.source,
                sourceRow: 1 + call.route,
                plugin: call.plugin,
                pluginRow: 1 + call.rule
            )
        }
        return calls
            + graph.forwards.map { forward in
                let row = 1 + graph.plugins[forward.plugin].rules.count + forward.step
                return GraphOrder.Link(source: forward.source, sourceRow: 0, plugin: forward.plugin, pluginRow: row)
            }
    }

    private mutating func addArrows(_ graph: ConfigurationGraph) {
        for call in graph.calls {
            let (source, plugin) = (sources[call.source], plugins[call.plugin])
            let names = "\(graph.sources[call.source].name) → \(graph.plugins[call.plugin].action)"
            arrows.append(
                Arrow(
                    kind: .call,
                    from: Point(x: source.right, y: source.rows[1 + call.route].middle.y),
                    to: Point(x: plugin.x, y: plugin.rows[1 + call.rule].middle.y),
                    label: "\(names): \(graph.label(of: call))"
                )
            )
        }
        for forward in graph.forwards {
            let (source, plugin) = (sources[forward.source], plugins[forward.plugin])
            let row = 1 + graph.plugins[forward.plugin].rules.count + forward.step
            let names = "\(graph.plugins[forward.plugin].action) → \(graph.sources[forward.source].name)"
            arrows.append(
                Arrow(
                    kind: .forward,
                    from: Point(x: plugin.x, y: plugin.rows[row].middle.y),
                    to: Point(x: source.right, y: source.rows[0].middle.y),
                    label: "\(names): \(graph.label(of: forward))"
                )
            )
        }
    }

    /// Places the chain below the columns, from left to right, in as many lines as it needs.
    private mutating func addNavigation(_ chain: ConfigurationGraph.Navigation?) {
        guard let chain else { return }
        navigationHeading = height + Measure.gap + Measure.heading / 2
        var (x, y) = (Measure.margin, height + Measure.gap + Measure.heading + 4)
        let boxHeight = Measure.row + 8
        for name in chain.elements {
            let boxWidth = GraphLabel.cells(name) * Measure.cell + 2 * Measure.padding
            if x > Measure.margin, x + boxWidth + Measure.margin > width {
                (x, y) = (Measure.margin, y + boxHeight + Measure.gap)
            }
            width = max(width, x + boxWidth + Measure.margin)
            let middle = Point(x: x + Measure.padding, y: y + boxHeight / 2)
            let row = Row(text: name, style: .row, middle: middle)
            navigation.append(Box(x: x, y: y, width: boxWidth, height: boxHeight, rows: [row]))
            x += boxWidth + Measure.chipGap
        }
        height = navigation.map(\.bottom).max() ?? height
    }
}

/// A box without a place.
private struct Draft {
    let rows: [(text: String, style: GraphLayout.RowStyle)]
    /// A text beside the first row.
    private var note: String?
    /// The numbers of the rows above which there is a line.
    private let groups: [Int]
    private let isDashed: Bool

    init(_ source: ConfigurationGraph.Source) {
        rows = [(source.name, .name)] + source.routes.map { ($0.shown, .row) }
        groups = source.routes.isEmpty ? [] : [1]
        isDashed = !source.isHeard
        note = source.kind
    }

    init(_ plugin: ConfigurationGraph.Plugin) {
        let rules = plugin.rules.map { ($0.text, GraphLayout.RowStyle.row) }
        rows = [(plugin.action, .name)] + rules + plugin.steps.map { ($0, .row) }
        groups = Set([1, 1 + rules.count]).sorted()
        isDashed = !plugin.isReached
    }

    var width: Int {
        let texts = rows.enumerated().map { $0.offset == 0 ? "\($0.element.text)  \(note ?? "")" : $0.element.text }
        let cells = texts.map(GraphLabel.cells).max() ?? 0
        return cells * GraphLayout.Measure.cell + 2 * GraphLayout.Measure.padding
    }

    var height: Int { rows.count * GraphLayout.Measure.row + (1 + groups.count) * 8 }

    func box(x: Int, y: Int, width: Int) -> GraphLayout.Box {
        var (placed, separators, next) = ([GraphLayout.Row](), [Int](), y + 4)
        for (index, row) in rows.enumerated() {
            if groups.contains(index) {
                separators.append(next + 4)
                next += 8
            }
            let middle = GraphLayout.Point(
                x: x + GraphLayout.Measure.padding,
                y: next + GraphLayout.Measure.row / 2
            )
            let beside = index == 0 ? note : nil
            placed.append(GraphLayout.Row(text: row.text, style: row.style, note: beside, middle: middle))
            next += GraphLayout.Measure.row
        }
        return GraphLayout.Box(
            x: x,
            y: y,
            width: width,
            height: height,
            rows: placed,
            separators: separators,
            isDashed: isDashed
        )
    }
}

/// The tops of the boxes in both columns.
private struct GraphColumns {
    private(set) var sourceTops: [Int]
    private(set) var pluginTops: [Int]
    private let heights: (sources: [Int], plugins: [Int])
    private let order: GraphOrder
    private let top: Int

    /// Stacks the boxes of each column.
    init(sources: [Draft], plugins: [Draft], order: GraphOrder, top: Int) {
        heights = (sources.map(\.height), plugins.map(\.height))
        (self.order, self.top) = (order, top)
        (sourceTops, pluginTops) = (heights.sources, heights.plugins)
        sourceTops = stacked(order.sources, heights.sources)
        pluginTops = stacked(order.plugins, heights.plugins)
    }

    /// Moves the boxes of the shorter column next to those that they are linked to, within the height of the other.
    mutating func align(_ links: [GraphOrder.Link]) {
        let bottoms = (
            sources: bottom(order.sources, sourceTops, heights.sources),
            plugins: bottom(order.plugins, pluginTops, heights.plugins)
        )
        if bottoms.sources < bottoms.plugins {
            let middles = links.map { ($0.source, pluginTops[$0.plugin] + heights.plugins[$0.plugin] / 2) }
            sourceTops = moved(order.sources, sourceTops, heights.sources, to: middles, above: bottoms.plugins)
        } else if bottoms.plugins < bottoms.sources {
            let middles = links.map { ($0.plugin, sourceTops[$0.source] + heights.sources[$0.source] / 2) }
            pluginTops = moved(order.plugins, pluginTops, heights.plugins, to: middles, above: bottoms.sources)
        }
    }

    private func stacked(_ order: [Int], _ heights: [Int]) -> [Int] {
        var (tops, next) = (heights, top)
        for box in order {
            tops[box] = next
            next += heights[box] + GraphLayout.Measure.gap
        }
        return tops
    }

    private func bottom(_ order: [Int], _ tops: [Int], _ heights: [Int]) -> Int {
        order.last.map { tops[$0] + heights[$0] } ?? top
    }

    private func moved(
        _ order: [Int],
        _ tops: [Int],
        _ heights: [Int],
        to middles: [(box: Int, middle: Int)],
        above bottom: Int
    ) -> [Int] {
        var sums: [Int: (sum: Int, count: Int)] = [:]
        for (box, middle) in middles {
            let (sum, count) = sums[box] ?? (0, 0)
            sums[box] = (sum + middle, count + 1)
        }
        var (result, next) = (tops, top)
        for box in order {
            let wanted = sums[box].map { $0.sum / $0.count - heights[box] / 2 } ?? next
            result[box] = max(wanted, next)
            next = result[box] + heights[box] + GraphLayout.Measure.gap
        }
        var limit = bottom
        for box in order.reversed() {
            result[box] = min(result[box], limit - heights[box])
            limit = result[box] - GraphLayout.Measure.gap
        }
        return result
    }
}
