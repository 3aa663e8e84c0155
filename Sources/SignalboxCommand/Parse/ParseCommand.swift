import ArgumentParser
import SignalboxRoutes

/// `signalbox parse URL...`.
struct ParseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Reads URLs as everything here reads them, and shows their parts, or why they are refused.",
        discussion: """
            One JSON object per URL, in order: url, scheme, host, port, path, segments, query, fragment, origin; or \
            input and error, with reason, offset and detail. With --routes also route, action, id and body, or \
            rejected: what would be called. Nothing is called.

            EXAMPLE
              signalbox parse 'myapp://product/42?ref=a' --routes examples/links/links.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("URLs; those that begin with '-' behind '--'.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Read a URL from each line of stdin; an empty line is one that is refused.")
    var stdin = false

    @Option(help: ArgumentHelp("A file of routes, or a configuration with a source of links.", valueName: "file"))
    var routes: String?

    @Option(help: ArgumentHelp("Which source of links of the configuration.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The URL that relative URLs are resolved against.", valueName: "url"))
    var base: String?

    func validate() throws {
        guard source == nil || routes != nil else {
            throw ValidationError("--source is a name in a configuration; say which with --routes")
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
