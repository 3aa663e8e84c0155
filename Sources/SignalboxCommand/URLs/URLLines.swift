import ArgumentParser
import SignalboxCore
import SignalboxRoutes

/// The URLs that a command reads from its arguments or from stdin.
struct URLArguments: ParsableArguments {
    /// The output line for one URL, including its newline, and whether the URL leads to exit status 1.
    typealias Line = (bytes: [UInt8], isBad: Bool)

    /// The number of bytes to collect before writing, even if more lines are ready.
    private static let batchSize = 256 << 10

    @Argument(help: ArgumentHelp("URLs; write '--' before those that begin with '-'.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Read a URL from each line of stdin; an empty line is refused.")
    var stdin = false

    func validate() throws {
        guard urls.isEmpty == stdin else { throw ValidationError("expected either URLs or --stdin") }
    }

    /// Writes one line for each URL, in order, until the input or the output ends. This method waits for the reader of
    /// the output, so that memory does not grow with the number of URLs.
    ///
    /// - Parameter line: Returns the line for one URL.
    /// - Returns: `done`, or `notAsExpected` if any URL was bad.
    /// - Throws: ``OutputFailure``, or ``CommandFailure`` if stdin cannot be read.
    func write(to output: StandardOutput, _ line: (InputLine) async -> Line) async throws -> CommandStatus {
        guard stdin else { return try await write(urls.map { InputLine(Array($0.utf8)) }, to: output, line) }
        var status = CommandStatus.done
        var reader = LineReader(limit: URLText.maximumLength)
        do {
            while let batch = try await reader.next() {
                if try await write(batch, to: output, line) != .done { status = .notAsExpected }
            }
        } catch let error as SystemError {
            throw CommandFailure(.unreadableFile, "stdin cannot be read: \(error)")
        }
        return status
    }

    private func write(
        _ batch: [InputLine],
        to output: StandardOutput,
        _ line: (InputLine) async -> Line
    ) async throws -> CommandStatus {
        var status = CommandStatus.done
        var lines: [UInt8] = []
        for item in batch {
            let made = await line(item)
            lines += made.bytes
            if made.isBad { status = .notAsExpected }
            guard lines.count >= URLArguments.batchSize else { continue }
            try await output.write(lines)
            lines.removeAll(keepingCapacity: true)
        }
        if !lines.isEmpty { try await output.write(lines) }
        return status
    }
}

extension JSONObject {
    /// Adds the parts of a URL, and the whole URL as `url`, in the form in which the URL is opened. Parts that the URL
    /// does not have are left out.
    ///
    /// - Parameter items: The query items, or `nil` if the query is missing or invalid.
    mutating func add(_ url: URLText, items: [URLQueryItem]?) {
        add("url", url.text)
        add("scheme", url.scheme)
        add("host", url.host)
        if let port = url.port { add("port", Int(port)) }
        add("path", url.path)
        add("segments", texts: url.segments)
        if let items {
            add("query", objects: items) { item, object in
                object.add("name", item.name)
                object.add("value", item.value)
            }
        }
        add("fragment", url.fragment)
        add("origin", url.origin?.description)
    }

    /// Adds an error in a URL or its query as the member `error`.
    mutating func add(_ error: URLTextError) {
        add("error") { object in
            object.add("reason", error.reason.description)
            object.add("offset", error.offset)
            object.add("detail", error.detail)
        }
    }

    /// Adds a line that is not a URL, without changing it.
    mutating func add(_ input: InputLine) {
        add("input", content: input.content)
        if input.isTruncated { add("inputCut", true) }
    }
}
