import HTTPClient
import MQTTPush
import SignalboxCore
import WebSocketChat

/// Makes the texts of a graph.
enum GraphLabel {
    /// The maximum width of a text in cells.
    static let maximumCells = 56
    /// The maximum number of routes, rules or steps that one box shows.
    static let maximumRows = 33

    /// Returns the text without control characters, and cut if it is too wide.
    static func text(_ text: String) -> String {
        let escaped = LineEscape.escaped(text)
        guard cells(escaped) > maximumCells else { return escaped }
        var (result, used) = ("", 1)
        for character in escaped {
            used += cells(String(character))
            guard used <= maximumCells else { break }
            result.append(character)
        }
        return result + "…"
    }

    /// Returns the path without the folder of the configuration, as it is in the file.
    static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
    }

    /// Returns the width of the text, in widths of a Latin letter of a monospaced font. Letters of other scripts may be
    /// twice as wide.
    static func cells(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + ($1.value < 0x500 || "…→–’".unicodeScalars.contains($1) ? 1 : 2) }
    }

    /// Returns the rows that a box shows. If there are too many, the last one counts the rest.
    static func limited<Row>(_ rows: [Row], _ row: (String) -> Row) -> [Row] {
        guard rows.count > maximumRows else { return rows }
        let shown = rows.prefix(maximumRows - 1)
        return shown + [row("and \(rows.count - shown.count) more")]
    }

    /// Returns the number of the row that shows an element.
    static func row(_ number: Int) -> Int { min(number, maximumRows - 1) }
}

extension SourceKind {
    /// The key of the kind in the file.
    var keyword: String {
        switch self {
        case .mqtt: "mqtt"
        case .script: "script"
        case .links: "links"
        case .feed: "feed"
        case .chat: "chat"
        case .http: "http"
        }
    }
}

extension ConfigurationGraph.Route {
    /// - Parameters:
    ///   - kind: The source of the route, or `nil` for `internal`.
    ///   - folder: The folder of the configuration.
    init(_ route: InboundRoute, of kind: SourceKind?, in folder: String) {
        action = route.action?.text
        text = GraphLabel.text(ConfigurationGraph.Route.text(of: route, kind, in: folder))
    }

    private static func text(of route: InboundRoute, _ kind: SourceKind?, in folder: String) -> String {
        switch route.kind {
        case .requests: return "POST \(route.pattern ?? "")"
        case .topic: return route.pattern ?? ""
        case .links: return route.pattern ?? "any other link"
        case .page:
            let files = (kind?.script?.files ?? []).map { GraphLabel.path($0, in: folder) }
            return files.isEmpty ? "messages" : files.joined(separator: ", ")
        case .feed, .chat:
            if let action = route.action, InboundRoute.internalActions.contains(action) { return "connections" }
            let path = kind?.chat.map { " on \($0.server.path)" } ?? ""
            return (route.payload == .bytes ? "binary messages" : "messages") + path
        case .other: return kind == nil ? "signalbox send" : "lost sessions"
        }
    }
}

extension AccessSection {
    /// The rule as an entry of a plugin: the source with its conditions.
    var graphRule: ConfigurationGraph.Rule {
        guard case .origin(let source, let conditions) = self else {
            let text = rule.description
            return ConfigurationGraph.Rule(text: GraphLabel.text("from \(text)"), condition: GraphLabel.text(text))
        }
        let suffix = " of source \(source)"
        let texts = conditions.map { $0.rule(of: source).description }.filter { $0 != "source \(source)" }
        let whole = texts.map { $0.hasSuffix(suffix) ? String($0.dropLast(suffix.count)) : $0 }.joined(separator: ", ")
        guard !whole.isEmpty else { return ConfigurationGraph.Rule(text: GraphLabel.text("from \(source)")) }
        return ConfigurationGraph.Rule(
            text: GraphLabel.text("from \(source): \(whole)"),
            condition: GraphLabel.text(whole)
        )
    }
}

extension PluginUse {
    /// The lines that describe the plugin. They have no text of a body, and of a server only its host.
    func graphSteps(in folder: String) -> [String] {
        guard case .chain(let steps) = self else { return [GraphLabel.text(graphText(in: folder))] }
        return ["chain"]
            + steps.enumerated().map { GraphLabel.text("\($0.offset + 1) \($0.element.graphText(in: folder))") }
    }

    private func graphText(in folder: String) -> String {
        switch self {
        case .file(let path): "file \(GraphLabel.path(path, in: folder))"
        case .exec(let section): "exec \(section.command.graphText)"
        case .process(let section): "process \(section.command.graphText)"
        case .http(let section): "http \(section.method.rawValue) \(section.url.host)"
        case .broadcast(let target, let tag):
            "broadcast" + (target.map { " to \($0)" } ?? "") + (tag.map { ", tag \($0)" } ?? "")
        case .join(let tag?): "join \(tag)"
        case .leave(let tag?): "leave \(tag)"
        case .send(let target, let reply): reply ? "ask \(target)" : "send to \(target)"
        case .publish(let section): "\(section.keyword) \(section.topic.text) to \(section.source)"
        case .filter(let filter): "filter \(filter.condition)" + (filter.rejects ? ", else reject" : "")
        case .throttle(let throttle): "throttle, \(throttle.shown)"
        case .aggregate(let aggregate): "aggregate \(aggregate.count) in \(DurationText.text(aggregate.within))"
        case .sample(let sample): "sample one in \(sample.interval)"
        case .fail(let retryable): retryable ? "fail, retryable" : "fail"
        default: keyword
        }
    }
}

extension ProgramCommand {
    /// The program and, if the first argument names a script, that one. Other arguments may hold what a picture must not show.
    fileprivate var graphText: String {
        let script = arguments.first.flatMap { ProgramCommand.isFileName($0) ? $0 : nil }
        let isCut = arguments.count > (script == nil ? 0 : 1)
        return [program, script, isCut ? "…" : nil].compactMap { $0 }.joined(separator: " ")
    }

    /// Whether the text is a path that ends with a period and one to four small letters.
    private static func isFileName(_ text: String) -> Bool {
        guard let period = text.lastIndex(of: "."), period > text.startIndex else { return false }
        let ending = text[period...].dropFirst()
        return (1...4).contains(ending.count) && ending.allSatisfy { $0.isASCII && $0.isLowercase }
            && text[..<period].allSatisfy { $0.isLetter || $0.isNumber || "._/-".contains($0) }
    }
}
