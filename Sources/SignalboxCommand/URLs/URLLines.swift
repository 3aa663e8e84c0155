import ArgumentParser
import SignalboxRoutes

/// Writes one line for each URL of a command, in order, and waits for whoever reads them: memory does not grow with the
/// number of URLs.
struct URLLines {
    /// A URL's line.
    struct Line {
        /// With its newline.
        let bytes: [UInt8]
        /// Whether the URL is one of those that make status 1.
        let isBad: Bool
    }

    /// After so many bytes the lines are written, also when more follow at once.
    private static let batchSize = 256 << 10

    let input: URLInput
    let output: StandardOutput

    /// Runs to the end of the input or of the output. Its diagnostics are out when it returns.
    ///
    /// - Parameter line: makes the line of one URL.
    /// - Returns: `done`, `notAsExpected` when a URL was bad, or the status of what ended it early.
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
            return await CommandRefusal(.outputFailed, "\(failure)").told()
        } catch {
            return await CommandRefusal(error).told()
        }
        return bad ? .notAsExpected : .done
    }
}

/// Where a command's URLs come from.
enum URLInput: Sendable, Hashable {
    /// They were written as arguments.
    case arguments([String])
    /// Each line of stdin is one.
    case standardInput

    /// - Throws: `ValidationError` unless it was said where the URLs are.
    init(arguments: [String], standardInput: Bool) throws {
        guard arguments.isEmpty == standardInput else {
            throw ValidationError("give URLs, or --stdin for those of stdin")
        }
        self = standardInput ? .standardInput : .arguments(arguments)
    }

    /// Gives the lines to the closure in order, as many at once as there are, and waits for it each time.
    ///
    /// - Throws: ``CommandRefusal`` when stdin cannot be read, and what the closure throws.
    func forEachBatch(_ take: ([InputLine]) async throws -> Void) async throws {
        switch self {
        case .arguments(let texts): try await take(texts.map { InputLine(Array($0.utf8)) })
        case .standardInput:
            let reader = PieceReader(.standardInput)
            var splitter = LineSplitter(limit: URLText.maximumLength)
            while true {
                let piece = try await URLInput.next(of: reader)
                guard !piece.isEmpty else { break }
                try await take(splitter.lines(in: piece))
            }
            if let last = splitter.lastLine() { try await take([last]) }
        }
    }

    private static func next(of reader: PieceReader) async throws(CommandRefusal) -> [UInt8] {
        do throws(SystemError) {
            return try await reader.next()
        } catch {
            throw CommandRefusal(.unreadableFile, "stdin cannot be read: \(error)")
        }
    }
}

extension JSONObject {
    /// What a URL consists of: `url`, the form in which it is opened, and its parts. Those that it has not are absent.
    ///
    /// - Parameter items: its query, where it could be read.
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

    /// Why a URL, or its query, was refused, as the member `error`.
    mutating func add(_ error: URLTextError) {
        var object = JSONObject()
        object.add("reason", error.reason.description)
        object.add("offset", error.offset)
        object.add("detail", error.detail)
        add("error", json: object.closed)
    }

    /// A line that is no URL, as it came.
    mutating func add(_ input: InputLine) {
        add("input", content: input.content)
        if input.isCut { add("inputCut", true) }
    }
}
