/// Reads lines from a file or stdin in chunks, so that memory use is bounded.
struct LineReader {
    private let reader: ChunkReader
    private var splitter: LineSplitter
    private var isAtEnd = false
    /// The number of bytes that were read.
    private(set) var bytes = 0

    /// - Parameters:
    ///   - reader: The input.
    ///   - limit: The maximum number of bytes to keep from each line. Must be at least 1.
    init(_ reader: ChunkReader = ChunkReader(.standardInput), limit: Int) {
        self.reader = reader
        splitter = LineSplitter(limit: limit)
    }

    /// Waits for the next chunk and returns the lines that end in it, if any.
    ///
    /// - Returns: The lines, or `nil` after the last line or when the task is cancelled.
    mutating func next() async throws(SystemError) -> [InputLine]? {
        guard !isAtEnd else { return nil }
        let chunk = try await reader.next()
        isAtEnd = chunk.isEmpty
        bytes += chunk.count
        guard isAtEnd else { return splitter.lines(in: chunk) }
        return Task.isCancelled ? nil : splitter.lastLine().map { [$0] }
    }
}
