import AdapterSupport
import Dispatch
import SignalboxCore
import SignalboxRoutes

/// Reads a file or pipe in chunks on a dispatch queue, so that a slow writer never blocks the cooperative pool.
///
/// Only one task may read at a time.
struct ChunkReader: Sendable {
    /// The maximum size of a chunk, in bytes.
    static let chunkSize = 64 << 10

    private let descriptor: InputDescriptor
    private let queue = DispatchQueue(label: "signalbox.input")

    /// - Parameter descriptor: A descriptor that is open for reading.
    init(_ descriptor: InputDescriptor) {
        self.descriptor = descriptor
    }

    /// Opens a file for reading. If the file is a FIFO, this method waits until a writer opens it.
    ///
    /// - Throws: The error from `open(2)`, or `ECANCELED` if the task is cancelled first.
    static func opening(_ path: String) async throws(SystemError) -> ChunkReader {
        let opened = try await waiting(on: DispatchQueue(label: "signalbox.input")) { () throws(SystemError) in
            try InputDescriptor(path: path)
        }
        guard let opened else { throw .cancelled }
        return ChunkReader(opened)
    }

    /// Waits for the next chunk and returns it.
    ///
    /// - Returns: The bytes, or an empty array at the end of the input or when the task is cancelled. Bytes that are
    ///   read after the cancellation are lost.
    func next() async throws(SystemError) -> [UInt8] {
        try await ChunkReader.waiting(on: queue) { [descriptor] () throws(SystemError) in
            try descriptor.read(upTo: ChunkReader.chunkSize)
        } ?? []
    }

    /// Runs blocking work on the queue. If the task is cancelled, this method stops waiting, but the work continues on
    /// the queue's thread.
    ///
    /// - Returns: The result of the work, or `nil` if the task is cancelled first.
    private static func waiting<Value: Sendable>(
        on queue: DispatchQueue,
        _ work: @escaping @Sendable () throws(SystemError) -> Value
    ) async throws(SystemError) -> Value? {
        let result = Promise<Result<Value, SystemError>>()
        queue.async { result.set(Result(catching: work)) }
        return try await result.valueUnlessCancelled()?.get()
    }
}

/// A file that is open for reading. It is closed when this object is deinitialized.
final class InputDescriptor: Sendable {
    let number: Int32
    private let ownsNumber: Bool

    /// The process's stdin, which is never closed.
    static let standardInput = InputDescriptor(number: STDIN_FILENO, ownsNumber: false)

    private init(number: Int32, ownsNumber: Bool) {
        self.number = number
        self.ownsNumber = ownsNumber
    }

    /// Opens a file. If the file is a FIFO, this initializer blocks until a writer opens it, so it must not be called
    /// on the cooperative pool.
    ///
    /// - Parameter path: The file's path, relative to the working directory, in the form of ``RawArguments``.
    convenience init(path: String) throws(SystemError) {
        let number = open(RawArguments.path(path), O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError.last }
        self.init(number: number, ownsNumber: true)
    }

    /// Checks that a file can probably be opened, without waiting for a FIFO's writer.
    ///
    /// - Throws: ``NamedFileError`` if the file does not exist, is not readable, or is a folder.
    static func checkReadable(_ path: String) throws(NamedFileError) {
        var status = stat()
        let name = RawArguments.path(path)
        guard stat(name, &status) == 0, access(name, R_OK) == 0 else {
            throw NamedFileError(path: path, reason: "cannot be read: \(SystemError.last)")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw NamedFileError(path: path, reason: "cannot be read: it is a folder")
        }
    }

    deinit {
        if ownsNumber { close(number) }
    }

    /// Waits for the next bytes and returns them. Returns an empty array at the end of the input. This method blocks,
    /// so it must not be called on the cooperative pool.
    ///
    /// - Parameter limit: The maximum number of bytes to read.
    func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        while true {
            var count = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = AdapterSupport.read(number, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return chunk }
            // A different program may have made a shared terminal or pipe non-blocking.
            if errno == EAGAIN {
                var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }
}

/// Splits input into lines, chunk by chunk. At most `limit` bytes of each line are kept.
///
/// A line ends with a line feed, or with a carriage return and a line feed. Any input after the last line ending is
/// also a line.
struct LineSplitter {
    /// The maximum number of bytes to keep from each line.
    let limit: Int
    private var pending: [UInt8] = []
    /// The length of the pending line, including bytes that were not kept. Counting stops at two more than the limit.
    private var length = 0

    /// - Parameter limit: The maximum number of bytes to keep from each line. Must be at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the lines that end in this chunk.
    mutating func lines(in chunk: [UInt8]) -> [InputLine] {
        var lines: [InputLine] = []
        var start = 0
        while let end = chunk[start...].firstIndex(of: UInt8(ascii: "\n")) {
            keep(chunk[start..<end])
            lines.append(takeLine())
            start = end + 1
        }
        keep(chunk[start...])
        return lines
    }

    /// Returns the last line if it has no line ending. Call this method at the end of the input.
    mutating func lastLine() -> InputLine? {
        length == 0 ? nil : takeLine(isEnded: false)
    }

    /// Keeps up to one byte more than the limit, because that byte may be a carriage return that belongs to the line
    /// ending.
    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        let room = limit + 1 - pending.count
        pending += bytes.prefix(room)
        length = min(length + bytes.count, limit + 2)
    }

    private mutating func takeLine(isEnded: Bool = true) -> InputLine {
        defer {
            pending.removeAll(keepingCapacity: true)
            length = 0
        }
        if isEnded, length == pending.count, pending.last == UInt8(ascii: "\r") { pending.removeLast() }
        let isTruncated = length > limit + 1 || pending.count > limit
        // The bytes are copied, because an array created from a slice may share the slice's memory. Otherwise, a short
        // line could keep a long line's memory alive.
        let kept = pending.withUnsafeBufferPointer { Array($0.prefix(limit)) }
        return InputLine(kept, isTruncated: isTruncated)
    }
}

/// One line of input, or one argument of a command.
struct InputLine: Sendable, Hashable {
    /// The line without its ending, truncated if it is too long.
    let bytes: [UInt8]
    /// Whether the line was truncated.
    let isTruncated: Bool

    /// - Parameters:
    ///   - bytes: The line without its ending.
    ///   - isTruncated: Whether bytes at the end of the line are missing.
    init(_ bytes: [UInt8], isTruncated: Bool = false) {
        self.bytes = bytes
        self.isTruncated = isTruncated
    }

    /// Returns the line as text.
    ///
    /// - Throws: `tooLong` for a truncated line, or `notUTF8` with the offset of the first invalid byte.
    func text() throws(URLTextError) -> String {
        guard !isTruncated else {
            throw URLTextError(.tooLong, at: bytes.count, "expected at most \(bytes.count) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw URLTextError(.notUTF8, at: InputLine.firstInvalidByte(of: bytes), "the line is not UTF-8")
        }
        return text
    }

    /// The bytes to repeat in a command's output. If truncation split a character, that character is left out.
    var content: Bytes {
        guard isTruncated else { return Bytes(bytes) }
        let whole = InputLine.firstInvalidByte(of: bytes)
        return Bytes(bytes.count - whole < 4 ? Array(bytes[..<whole]) : bytes)
    }

    /// The line as text for a terminal. If the line is not UTF-8, only its length in bytes is shown.
    var shown: String {
        let content = content
        return content.text.map { isTruncated ? "\($0)…" : $0 } ?? "(\(content.count) bytes)"
    }

    private static func firstInvalidByte(of bytes: [UInt8]) -> Int {
        var parser = UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var offset = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
        return offset
    }
}
