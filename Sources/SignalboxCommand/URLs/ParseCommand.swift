import AppScheme
import ArgumentParser
import SignalboxCore
import SignalboxRoutes

/// The command `signalbox parse URL...`.
struct ParseCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Parses URLs and prints their parts, or the reason they are refused.",
        usage: "signalbox parse [<options>] [<url> ...]",
        discussion: """
            One JSON object per URL, in order: url, scheme, host, port, path, segments, query, fragment, origin; or \
            input and error, with reason, offset and detail. With --routes it also shows what would be called: route, \
            action, id and body, or rejected. Calls nothing.

            EXAMPLE
              signalbox parse 'myapp://product/42?ref=a' --routes examples/links/links.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "parse"))
            """
    )

    @OptionGroup var input: URLArguments

    @Option(
        help: ArgumentHelp("A file of routes, or a configuration with a source of links.", valueName: "file"),
        completion: .configuration
    )
    var routes: String?

    @Option(help: ArgumentHelp("The source of links, if there are several.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The base of relative URLs.", valueName: "url"))
    var base: String?

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard source == nil || routes != nil else {
            throw ValidationError("--source names a source of a configuration; add --routes")
        }
        _ = try baseURL()
    }

    func perform() async throws -> CommandStatus {
        let routes = try routes.map { try ConfigurationFile.routes($0, source: source) }
        let base = try baseURL()
        let output = StandardOutput()
        return try await input.write(to: output) { line in
            let parsed = ParsedURL(line, base: base, routes: routes)
            return (output.isTerminal ? parsed.terminalLine : parsed.jsonLine, isBad: !parsed.isValid)
        }
    }

    /// Returns the base URL. Error messages never contain it, because its query may include a token.
    private func baseURL() throws -> URLText? {
        try base.map { text in try ValidationError.checked("--base") { try URLText(text) } }
    }
}

/// The result of parsing one line.
struct ParsedURL {
    private let input: InputLine
    private let url: URLText?
    private let items: [URLQueryItem]?
    /// The number of query items that cannot be read and are left out.
    private let unreadableItems: Int
    /// The error in the URL or its query, if there is one.
    private let error: URLTextError?
    /// The route that matches the URL, or `nil` if no route matches.
    private let route: URLPattern?
    /// The action that the routes map the URL to, or the reason why they reject it. If there are no routes, this is
    /// `nil`.
    private let reading: Result<LinkAction, Outcome.Rejection>?

    /// - Parameters:
    ///   - base: The base for relative URLs, or `nil` if the URL must be absolute.
    ///   - routes: The routes to match, or `nil` to only show the parts of the URL.
    init(_ input: InputLine, base: URLText?, routes: AppRoutes?) {
        self.input = input
        do throws(URLTextError) {
            let text = try input.text()
            let url = if let base { try URLText(text, relativeTo: base) } else { try URLText(text) }
            self.url = url
            let match = routes?.match(url.text)
            (route, reading) = (match?.pattern, match?.reading)
        } catch {
            (url, items, unreadableItems, self.error) = (nil, nil, 0, error)
            (route, reading) = (nil, routes.map { _ in .failure(.unreadableLink(error)) })
            return
        }
        do throws(URLTextError) {
            let query = try url?.readableQueryItems()
            (items, unreadableItems, error) = (url?.query == nil ? nil : query?.items, query?.unreadable ?? 0, nil)
        } catch let problem {
            (items, unreadableItems, error) = (nil, 0, problem)
        }
    }

    /// Whether the URL and its query are valid. If there are routes, the URL must also lead to an action.
    var isValid: Bool {
        if case .failure? = reading { return false }
        return error == nil
    }

    /// The result as one JSON object followed by a newline. If there are routes, the object has either the members
    /// `action`, `id` and `body` or the member `rejected`. If a route matched, it also has the member `route`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let url { object.add(url, items: items) } else { object.add(input) }
        object.add(unreadableItems: unreadableItems)
        if let error { object.add(error) }
        object.add("route", route?.text)
        switch reading {
        case .success(let action)?:
            object.add("action", action.name.text)
            object.add("id", action.id?.text)
            object.add("body", json: body(of: action))
        case .failure(let rejection)?:
            object.add("rejected") { object in
                object.add("reason", rejection.reason.description)
                object.add("detail", rejection.detail)
            }
        case nil: break
        }
        return object.line
    }

    /// The result as columns for a terminal: the URL, its host and path, and the action. If the URL is invalid, the
    /// columns are the input and the reason.
    var terminalLine: [UInt8] {
        guard let url else {
            let refused = TerminalColor.red.applied(to: "refused")
            let reason = "\(refused): " + LineEscape.escaped(error?.description ?? "")
            return TerminalText.line([TerminalText.column(input.shown, width: 48), reason])
        }
        let location = ([url.host].compactMap { $0 } + url.segments).joined(separator: "  ")
        var columns = [TerminalText.column(url.text, width: 48), TerminalText.column(location, width: 32)]
        if let error { columns.append(LineEscape.escaped("query: \(error)")) }
        if unreadableItems > 0 { columns.append("\(unreadableItems) unreadable query items left out") }
        switch reading {
        case .success(let action)?:
            let body = String(decoding: body(of: action), as: UTF8.self)
            columns.append(LineEscape.escaped("-> \(action.name.text) ") + body)
        case .failure(let rejection)?:
            let rejected = TerminalColor.red.applied(to: "rejected")
            columns.append("\(rejected): " + LineEscape.escaped(rejection.description))
        case nil: break
        }
        return TerminalText.line(columns)
    }

    /// Returns the body that the plugin would receive. It consists of the captures.
    private func body(of action: LinkAction) -> [UInt8] {
        var body = JSONObject()
        for capture in action.captures {
            if capture.isList {
                body.add(capture.name, texts: [capture.value] + capture.moreValues)
            } else {
                body.add(capture.name, capture.value)
            }
        }
        return body.bytes
    }
}
