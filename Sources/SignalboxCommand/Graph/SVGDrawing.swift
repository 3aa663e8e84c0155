/// Writes a layout as SVG 1.1, without scripts, fonts or anything else from outside.
struct SVGDrawing {
    private typealias Measure = GraphLayout.Measure

    private let layout: GraphLayout
    private let graph: ConfigurationGraph
    private let title: String

    /// The maximum number of arrows that the description lists.
    private static let describedArrows = 50

    private static let style = """
        <style>
        text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328; \
        dominant-baseline: central; white-space: pre }
        .paper { fill: #ffffff }
        .box { fill: #f6f8fa; stroke: #57606a }
        .dashed { stroke-dasharray: 6 4 }
        .line { stroke: #d0d7de }
        .name { font-weight: bold }
        .small { fill: #57606a }
        .arrow { fill: none; stroke-width: 1.5 }
        .call { stroke: #0969da }
        .forward { stroke: #bc4c00; stroke-dasharray: 2 4; stroke-linecap: round }
        .call-head { fill: #0969da }
        .forward-head { fill: #bc4c00 }
        @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        .paper { fill: #0d1117 }
        .box { fill: #161b22; stroke: #8b949e }
        .line { stroke: #30363d }
        .small { fill: #8b949e }
        .call { stroke: #58a6ff }
        .forward { stroke: #f0883e }
        .call-head { fill: #58a6ff }
        .forward-head { fill: #f0883e }
        }
        </style>
        """

    init(_ layout: GraphLayout, of graph: ConfigurationGraph, title: String) {
        (self.layout, self.graph, self.title) = (layout, graph, title)
    }

    /// The picture, with a newline at the end.
    var text: String {
        let (width, height) = (layout.width, layout.height)
        let size = #"width="\#(width)" height="\#(height)" viewBox="0 0 \#(width) \#(height)""#
        var lines = [
            #"<svg xmlns="http://www.w3.org/2000/svg" \#(size) role="img">"#,
            "<title>\(XMLText.escaped(title))</title>", "<desc>\(XMLText.escaped(description))</desc>",
            SVGDrawing.style, #"<rect class="paper" width="100%" height="100%"/>"#,
            text("sources", "small", layout.headings.sources, layout.headings.middle),
            text("plugins", "small", layout.headings.plugins, layout.headings.middle),
        ]
        lines += layout.arrows.flatMap(arrow)
        lines += (layout.sources + layout.plugins).flatMap(box)
        lines += navigation + legend
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// The graph in words.
    private var description: String {
        let counts = [(graph.sources.count, "source"), (graph.plugins.count, "plugin")].map { count, word in
            "\(count) \(word)\(count == 1 ? "" : "s")"
        }
        var sentences = [counts.joined(separator: ", ")] + layout.arrows.prefix(SVGDrawing.describedArrows).map(\.label)
        let rest = layout.arrows.count - SVGDrawing.describedArrows
        if rest > 0 { sentences.append("and \(rest) more arrows") }
        sentences += graph.sources.filter { !$0.isHeard }.map { "no plugin admits a message of \($0.name)" }
        sentences += graph.plugins.filter { !$0.isReached }.map { "no message reaches \($0.action)" }
        if let navigation = graph.navigation {
            sentences.append("navigation: \(navigation.elements.joined(separator: " → "))")
        }
        return sentences.joined(separator: "; ")
    }

    private var navigation: [String] {
        guard let heading = layout.navigationHeading else { return [] }
        let title = text("navigation: the URLs that a page may load", "small", Measure.margin, heading)
        let arrows = zip(layout.navigation, layout.navigation.dropFirst()).flatMap { before, after -> [String] in
            let (start, end) = (before.rows[0].middle.y, after.rows[0].middle.y)
            // In the next line, the arrow comes from the left edge of the picture.
            let from = start == end ? before.right : 2
            return line(from: from, to: after.x, at: end, "call") + [head(.init(x: after.x, y: end), 1, "call")]
        }
        return [title] + layout.navigation.flatMap(box) + arrows
    }

    private var legend: [String] {
        let (y, x) = (layout.legend, Measure.margin)
        return line(from: x, to: x + 32, at: y, "call") + [head(.init(x: x + 32, y: y), 1, "call")]
            + [text("may call", "small", x + 42, y)]
            + line(from: x + 128, to: x + 160, at: y, "forward") + [head(.init(x: x + 160, y: y), 1, "forward")]
            + [text("sends to", "small", x + 170, y)]
            + [#"<rect class="box dashed" x="\#(x + 256)" y="\#(y - 8)" width="32" height="16" rx="4"/>"#]
            + [text("unused", "small", x + 298, y)]
    }

    private func box(_ box: GraphLayout.Box) -> [String] {
        let place = #"x="\#(box.x)" y="\#(box.y)" width="\#(box.width)" height="\#(box.height)""#
        var lines = [#"<rect class="box\#(box.isDashed ? " dashed" : "")" \#(place) rx="6"/>"#]
        for y in box.separators {
            lines.append(#"<path class="line" d="M\#(box.x) \#(y)H\#(box.right)"/>"#)
        }
        for row in box.rows {
            lines.append(text(row.text, row.style.rawValue, row.middle.x, row.middle.y))
            guard let note = row.note else { continue }
            let x = row.middle.x + (GraphLabel.cells(row.text) + 2) * Measure.cell
            lines.append(text(note, "small", x, row.middle.y))
        }
        return lines
    }

    private func arrow(_ arrow: GraphLayout.Arrow) -> [String] {
        let (from, to) = (arrow.from, arrow.to)
        let direction = from.x < to.x ? 1 : -1
        let end = to.x - 7 * direction
        let middle = (from.x + end) / 2
        let path = "M\(from.x) \(from.y)C\(middle) \(from.y) \(middle) \(to.y) \(end) \(to.y)"
        return [
            "<g><title>\(XMLText.escaped(arrow.label))</title>",
            #"<path class="arrow \#(arrow.kind.rawValue)" d="\#(path)"/>"#,
            head(to, direction, arrow.kind.rawValue) + "</g>",
        ]
    }

    private func line(from: Int, to: Int, at y: Int, _ style: String) -> [String] {
        [#"<path class="arrow \#(style)" d="M\#(from) \#(y)H\#(to - 7)"/>"#]
    }

    /// - Parameter direction: 1 for a head that points to the right, -1 for one that points to the left.
    private func head(_ tip: GraphLayout.Point, _ direction: Int, _ style: String) -> String {
        let back = tip.x - 9 * direction
        return #"<path class="\#(style)-head" d="M\#(tip.x) \#(tip.y)L\#(back) \#(tip.y - 5)V\#(tip.y + 5)Z"/>"#
    }

    /// Returns a text. Letters that a monospaced font may not have are squeezed into their place.
    private func text(_ text: String, _ style: String, _ x: Int, _ y: Int) -> String {
        let cells = GraphLabel.cells(text)
        let isPlain = cells == text.unicodeScalars.count
        let length = #" textLength="\#(cells * Measure.cell)" lengthAdjust="spacingAndGlyphs""#
        return #"<text class="\#(style)" x="\#(x)" y="\#(y)"\#(isPlain ? "" : length)>\#(XMLText.escaped(text))</text>"#
    }
}
