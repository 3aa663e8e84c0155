/// Writes a graph as text for other programs, which arrange it themselves.
extension ConfigurationGraph {
    /// All arrows between one source and one plugin.
    private struct Joined {
        let source: Int
        let plugin: Int
        var labels: [String]
    }

    /// The flow chart in the language of Mermaid.
    var mermaid: String {
        func quoted(_ lines: [String]) -> String { "\"" + lines.map(Self.mermaidText).joined(separator: "<br>") + "\"" }
        var lines = ["flowchart LR"]
        for (index, source) in sources.enumerated() { lines.append("  s\(index)[\(quoted(source.lines))]") }
        for (index, plugin) in plugins.enumerated() { lines.append("  p\(index)(\(quoted(plugin.lines)))") }
        for call in joinedCalls { lines.append("  s\(call.source) -->|\(quoted(call.labels))| p\(call.plugin)") }
        for forward in joinedForwards {
            lines.append("  p\(forward.plugin) -.->|\(quoted(forward.labels))| s\(forward.source)")
        }
        if let navigation {
            lines.append("  subgraph navigation")
            for (index, name) in navigation.elements.enumerated() { lines.append("    n\(index)[\(quoted([name]))]") }
            for index in navigation.elements.indices.dropFirst() { lines.append("    n\(index - 1) --> n\(index)") }
            lines.append("  end")
        }
        let unused = unusedNodes
        if !unused.isEmpty {
            lines.append("  classDef unused stroke-dasharray: 5 5")
            lines.append("  class \(unused.joined(separator: ",")) unused")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The graph in the language of Graphviz.
    var dot: String {
        func quoted(_ lines: [String]) -> String { "\"" + lines.map(Self.dotText).joined(separator: "\\n") + "\"" }
        let unused = Set(unusedNodes)
        func style(_ node: String) -> String { unused.contains(node) ? ", style=dashed" : "" }
        var lines = ["digraph signalbox {", "  rankdir=LR;", "  node [shape=box, fontname=monospace];"]
        lines.append("  edge [fontname=monospace, fontsize=10];")
        for (index, source) in sources.enumerated() {
            lines.append("  s\(index) [label=\(quoted(source.lines))\(style("s\(index)"))];")
        }
        for (index, plugin) in plugins.enumerated() {
            lines.append("  p\(index) [label=\(quoted(plugin.lines))\(style("p\(index)"))];")
        }
        for call in joinedCalls {
            lines.append("  s\(call.source) -> p\(call.plugin) [label=\(quoted(call.labels))];")
        }
        for forward in joinedForwards {
            let label = quoted(forward.labels)
            lines.append("  p\(forward.plugin) -> s\(forward.source) [label=\(label), style=dotted, constraint=false];")
        }
        if let navigation {
            lines += ["  subgraph cluster_navigation {", "    label=navigation;"]
            for (index, name) in navigation.elements.enumerated() {
                lines.append("    n\(index) [label=\(quoted([name]))];")
            }
            for index in navigation.elements.indices.dropFirst() { lines.append("    n\(index - 1) -> n\(index);") }
            lines.append("  }")
        }
        return (lines + ["}"]).joined(separator: "\n") + "\n"
    }

    /// The names of the sources that no plugin admits, and of the plugins that no source reaches.
    private var unusedNodes: [String] {
        sources.indices.filter { !sources[$0].isHeard }.map { "s\($0)" }
            + plugins.indices.filter { !plugins[$0].isReached }.map { "p\($0)" }
    }

    private var joinedCalls: [Joined] {
        Self.joined(calls.map { Joined(source: $0.source, plugin: $0.plugin, labels: [label(of: $0)]) })
    }

    private var joinedForwards: [Joined] {
        Self.joined(forwards.map { Joined(source: $0.source, plugin: $0.plugin, labels: [label(of: $0)]) })
    }

    /// Returns the pattern of the route and the condition of the rule.
    func label(of call: Call) -> String {
        let route = sources[call.source].routes[call.route].text
        guard let condition = plugins[call.plugin].rules[call.rule].condition else { return route }
        return "\(route) if \(condition)"
    }

    /// Returns what the step does.
    func label(of forward: Forward) -> String { plugins[forward.plugin].steps[forward.step] }

    /// Returns one element for each pair of source and plugin, in the order of the first.
    private static func joined(_ arrows: [Joined]) -> [Joined] {
        struct Pair: Hashable {
            let source: Int
            let plugin: Int
        }
        var result: [Joined] = []
        var places: [Pair: Int] = [:]
        for arrow in arrows {
            let pair = Pair(source: arrow.source, plugin: arrow.plugin)
            if let place = places[pair] {
                let new = arrow.labels.filter { !result[place].labels.contains($0) }
                result[place].labels += new
            } else {
                places[pair] = result.count
                result.append(arrow)
            }
        }
        return result
    }

    /// Returns the text for a string of Mermaid, where `#` begins an escape and a grave accent can begin Markdown.
    private static func mermaidText(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            result += "\"#&<>`;\\".unicodeScalars.contains(scalar) ? "#\(scalar.value);" : String(scalar)
        }
    }

    /// Returns the text for a string of Graphviz, in which entities of HTML are read.
    private static func dotText(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

extension ConfigurationGraph.Source {
    /// The lines of a box for the source.
    fileprivate var lines: [String] { ["\(name) (\(kind))"] + routes.map(\.shown) }
}

extension ConfigurationGraph.Plugin {
    /// The lines of a box for the plugin. The rules are at its arrows, unless it has none.
    fileprivate var lines: [String] { [action] + steps + (isReached ? [] : rules.map(\.text)) }
}

extension ConfigurationGraph.Navigation {
    /// The handlers, and what happens after the last.
    var elements: [String] { handlers + ["else \(fallback)"] }
}
