import AppScheme
import ArgumentParser
import SignalboxCore
import SignalboxRoutes

/// `signalbox parse URL...`.
struct ParseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Parses URLs and prints their parts, or the reason they are refused.",
        discussion: """
            One JSON object per URL, in order: url, scheme, host, port, path, segments, query, fragment, origin; or \
            input and error, with reason, offset and detail. With --routes it also shows what would be called: route, \
            action, id and body, or rejected. Calls nothing.

            EXAMPLE
              signalbox parse 'myapp://product/42?ref=a' --routes examples/links/links.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("URLs; write '--' before those that begin with '-'.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Read a URL from each line of stdin; an empty line is refused.")
    var stdin = false

    @Option(help: ArgumentHelp("A file of routes, or a configuration with a source of links.", valueName: "file"))
    var routes: String?

    @Option(help: ArgumentHelp("The source of links, if there are several.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The base of relative URLs.", valueName: "url"))
    var base: String?

    func validate() throws {
        guard source == nil || routes != nil else {
            throw ValidationError("--source names a source of a configuration; add --routes")
        }
        _ = try request()
    }

    func run() async throws {
        throw await ParseProgram.status(of: try request()).code
    }

    private func request() throws -> ParseRequest {
        ParseRequest(
            input: try URLInput(arguments: urls, standardInput: stdin),
            routes: routes,
            source: source,
            base: try base.map { text in
                do throws(URLTextError) {
                    return try URLText(text)
                } catch {
                    throw ValidationError("--base: \(error)")
                }
            }
        )
    }
}

/// The arguments of `parse`.
struct ParseRequest: Sendable {
    let input: URLInput
    /// The path of the file with the routes.
    let routes: String?
    /// The name of the source of links in that file.
    let source: String?
    /// The base for relative URLs.
    let base: URLText?
}

/// The `parse` command, from the first URL to the exit status.
enum ParseProgram {
    /// Parses and prints all URLs. Calls no plugin. All diagnostics are written when it returns.
    static func status(of request: ParseRequest) async -> CommandStatus {
        let routes: AppRoutes?
        do {
            routes = try request.routes.map { path throws(CommandFailure) in
                try ConfigurationFile.routes(path, source: request.source)
            }
        } catch {
            return await error.report()
        }
        let output = StandardOutput()
        return await URLLines(input: request.input, output: output).status { line in
            let parsed = ParsedURL(line, base: request.base, routes: routes)
            return URLLines.Line(
                bytes: output.isTerminal ? parsed.terminalLine : parsed.jsonLine,
                isBad: !parsed.isValid
            )
        }
    }
}

/// The result of `parse` for one line.
struct ParsedURL {
    private let input: InputLine
    private let url: URLText?
    private let items: [URLQueryItem]?
    /// The error in the URL or its query.
    private let error: URLTextError?
    private let routed: RoutedURL?

    /// - Parameters:
    ///   - base: The base for relative URLs.
    ///   - routes: The routes that are matched, if any.
    init(_ input: InputLine, base: URLText?, routes: AppRoutes?) {
        self.input = input
        let read = ParsedURL.read(input, base)
        url = try? read.get()
        let query = url.map { ParsedURL.items(of: $0) }
        items = (try? query?.get()) ?? nil
        error = read.failure ?? query?.failure
        let (url, error) = (url, read.failure)
        routed = routes.map { RoutedURL(url, error, routes: $0) }
    }

    /// Whether the URL and its query are valid and, if there are routes, it leads to an action.
    var isValid: Bool { error == nil && routed?.isAction ?? true }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let url { object.add(url, items: items) } else { object.add(input) }
        if let error { object.add(error) }
        routed?.add(to: &object)
        return object.line
    }

    /// Terminal columns: URL, host and path, and action. For an invalid URL: the input and the reason.
    var terminalLine: [UInt8] {
        guard let url else {
            let reason = LineEscape.escaped("refused: \(error?.description ?? "")")
            return TerminalText.line([TerminalText.column(input.shown, width: 48), reason])
        }
        var columns = [TerminalText.column(url.text, width: 48), TerminalText.column(location(of: url), width: 32)]
        if let error { columns.append(LineEscape.escaped("query: \(error)")) }
        if let routed { columns.append(routed.column) }
        return TerminalText.line(columns)
    }

    private func location(of url: URLText) -> String {
        ([url.host].compactMap { $0 } + url.segments).joined(separator: "  ")
    }

    private static func read(_ input: InputLine, _ base: URLText?) -> Result<URLText, URLTextError> {
        Result { () throws(URLTextError) in
            let text = try input.text()
            return if let base { try URLText(text, relativeTo: base) } else { try URLText(text) }
        }
    }

    /// Returns `nil` if there is no query.
    private static func items(of url: URLText) -> Result<[URLQueryItem]?, URLTextError> {
        guard url.query != nil else { return .success(nil) }
        return Result { () throws(URLTextError) in try url.queryItems() }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// The match of a URL by routes: an action, or a rejection.
struct RoutedURL {
    private let match: LinkMatch?
    private let refusal: String

    /// - Parameters:
    ///   - url: The URL, or `nil` if it was refused.
    ///   - error: The reason it was refused.
    init(_ url: URLText?, _ error: URLTextError?, routes: AppRoutes) {
        match = url.map { routes.match($0.text) }
        refusal = "the link cannot be read: \(error?.description ?? "")"
    }

    /// Whether the URL leads to an action.
    var isAction: Bool { action != nil }

    /// Adds `route`, `action`, `id` and `body`; or `rejected`, with `route` if one matched.
    func add(to object: inout JSONObject) {
        object.add("route", match?.pattern?.text)
        if let action {
            object.add("action", action.name.text)
            object.add("id", action.id?.text)
            object.add("body", json: body(of: action))
        } else {
            object.add("rejected", objects: rejection)
        }
    }

    /// The action and its body, or the rejection, for a terminal.
    var column: String {
        guard let action else { return LineEscape.escaped("rejected: \(rejection.description)") }
        return LineEscape.escaped("-> \(action.name.text) ") + String(decoding: body(of: action), as: UTF8.self)
    }

    private var action: LinkAction? { try? match?.reading.get() }

    private var rejection: Outcome.Rejection {
        if case .failure(let rejection)? = match?.reading { return rejection }
        return Outcome.Rejection(.malformed, detail: refusal)
    }

    /// Returns the body that the plugin would receive: the captures.
    private func body(of action: LinkAction) -> [UInt8] {
        var body = JSONObject()
        for capture in action.captures { body.add(capture.name, capture.value) }
        return body.bytes
    }
}

extension JSONObject {
    fileprivate mutating func add(_ name: String, objects rejection: Outcome.Rejection) {
        var object = JSONObject()
        object.add("reason", rejection.reason.description)
        object.add("detail", rejection.detail)
        add(name, json: object.bytes)
    }
}
