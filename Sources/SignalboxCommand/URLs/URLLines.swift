import ArgumentParser
import SignalboxCore
import SignalboxRoutes

/// Writes one line for each URL of a command, in order. Waits for the reader, so that memory does not grow with the
/// number of URLs.
struct URLLines {
    /// The line of one URL.
    struct Line {
        /// The line with its newline.
        let bytes: [UInt8]
        /// Whether the URL leads to exit status 1.
        let isBad: Bool
    }

    /// The number of bytes after which lines are written, even if more are ready.
    private static let batchSize = 256 << 10

    let input: URLInput
    let output: StandardOutput

    /// Processes URLs until the input or the output ends. All diagnostics are written when it returns.
    ///
    /// - Parameter line: Returns the line of one URL.
    /// - Returns: `done`, `notAsExpected` if a URL was bad, or the status of an early end.
    func status(_ line: (InputLine) async -> Line) async -> CommandStatus {
        var bad = false
        do {
            try await input.forEachBatch { batch in
                var lines: [UInt8] = []
                for item in batch {
                    let made = await line(item)
                    lines += made.bytes
                    bad = bad || made.isBad
                    if lines.count >= URLLines.batchSize {
                        try await output.write(lines)
                        lines.removeAll(keepingCapacity: true)
                    }
                }
                if !lines.isEmpty { try await output.write(lines) }
            }
        } catch let failure as OutputFailure {
            return await CommandFailure(.outputFailed, "\(failure)").report()
        } catch {
            return await CommandFailure(error).report()
        }
        return bad ? .notAsExpected : .done
    }
}

/// The source of a command's URLs.
enum URLInput: Sendable, Hashable {
    /// Command-line arguments.
    case arguments([String])
    /// The lines of stdin.
    case standardInput

    /// - Throws: `ValidationError` unless exactly one source is given.
    init(arguments: [String], standardInput: Bool) throws {
        guard arguments.isEmpty == standardInput else {
            throw ValidationError("expected either URLs or --stdin")
        }
        self = standardInput ? .standardInput : .arguments(arguments)
    }

    /// Passes the lines to the closure in order, in batches of all available lines. Waits for each call.
    ///
    /// - Throws: ``CommandFailure`` if stdin cannot be read, and any error of the closure.
    func forEachBatch(_ take: ([InputLine]) async throws -> Void) async throws {
        switch self {
        case .arguments(let texts): try await take(texts.map { InputLine(Array($0.utf8)) })
        case .standardInput:
            let reader = ChunkReader(.standardInput)
            var splitter = LineSplitter(limit: URLText.maximumLength)
            while true {
                let chunk = try await URLInput.next(of: reader)
                guard !chunk.isEmpty else { break }
                try await take(splitter.lines(in: chunk))
            }
            if let last = splitter.lastLine() { try await take([last]) }
        }
    }

    private static func next(of reader: ChunkReader) async throws(CommandFailure) -> [UInt8] {
        do throws(SystemError) {
            return try await reader.next()
        } catch {
            throw CommandFailure(.unreadableFile, "stdin cannot be read: \(error)")
        }
    }
}

extension JSONObject {
    /// Adds `url`, in the form in which it is opened, and its parts. Absent parts are left out.
    ///
    /// - Parameter items: The query, if it is valid.
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

    /// Adds the error of a URL or its query as the member `error`.
    mutating func add(_ error: URLTextError) {
        var object = JSONObject()
        object.add("reason", error.reason.description)
        object.add("offset", error.offset)
        object.add("detail", error.detail)
        add("error", json: object.bytes)
    }

    /// Adds a line that is not a URL, unchanged.
    mutating func add(_ input: InputLine) {
        add("input", content: input.content)
        if input.isTruncated { add("inputCut", true) }
    }
}
