import ArgumentParser
import SignalboxRoutes

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
