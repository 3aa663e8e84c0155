import Dispatch
import Foundation
import SignalboxCore
import SignalboxRoutes

/// Reads a file or pipe piece by piece on a dispatch queue, so that the cooperative pool never waits for the writer.
///
/// Allows one reader at a time.
struct PieceReader: Sendable {
    /// The maximum size of a piece, in bytes.
    static let pieceSize = 64 << 10

    private let descriptor: InputDescriptor
    private let queue = DispatchQueue(label: "signalbox.input")

    /// - Parameter descriptor: A descriptor that is open for reading.
    init(_ descriptor: InputDescriptor) {
        self.descriptor = descriptor
    }

    /// Opens a file. Waits until a FIFO has a writer.
    ///
    /// - Throws: The error of `open(2)`, or `ECANCELED` if the task is cancelled first.
    static func opening(_ path: String) async throws(SystemError) -> PieceReader {
        let opened: Result<InputDescriptor, SystemError> = await waiting(
            on: DispatchQueue(label: "signalbox.input"),
            whenCancelled: .failure(.cancelled)
        ) {
            Result { () throws(SystemError) in try InputDescriptor(path: path) }
        }
        return PieceReader(try opened.get())
    }

    /// Waits for the next piece and returns it.
    ///
    /// - Returns: No bytes at the end, and when the task is cancelled. Bytes read after cancellation are lost.
    func next() async throws(SystemError) -> [UInt8] {
        let piece: Result<[UInt8], SystemError> = await PieceReader.waiting(on: queue, whenCancelled: .success([])) {
            [descriptor] in
            Result { () throws(SystemError) in try descriptor.read(upTo: PieceReader.pieceSize) }
        }
        return try piece.get()
    }

    /// Runs blocking work on the queue. Cancellation ends the wait, but not the work on the queue's thread.
    private static func waiting<Value: Sendable>(
        on queue: DispatchQueue,
        whenCancelled cancelled: Value,
        _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        let answer = FirstAnswer<Value>()
        return await withTaskCancellationHandler {
            queue.async { answer.give(work()) }
            return await withCheckedContinuation { answer.wait($0) }
        } onCancel: {
            answer.give(cancelled)
        }
    }
}

/// A file that is open for reading and closed on deinitialization.
final class InputDescriptor: Sendable {
    let number: Int32
    private let isOurs: Bool

    /// The process's stdin, which stays open.
    static let standardInput = InputDescriptor(number: STDIN_FILENO, isOurs: false)

    private init(number: Int32, isOurs: Bool) {
        self.number = number
        self.isOurs = isOurs
    }

    /// Opens a file. Blocks while a FIFO has no writer. Not for the cooperative pool.
    ///
    /// - Parameter path: The path, relative to the working directory.
    convenience init(path: String) throws(SystemError) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError.last }
        self.init(number: number, isOurs: true)
    }

    /// Checks that a file can probably be opened, without waiting for a FIFO's writer.
    ///
    /// - Throws: ``NamedFileError`` if the file does not exist, is not readable, or is a folder.
    static func checkReadable(_ path: String) throws(NamedFileError) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw NamedFileError(path: path, reason: "cannot be read: \(SystemError.last)")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw NamedFileError(path: path, reason: "cannot be read: it is a folder")
        }
    }

    deinit {
        if isOurs { close(number) }
    }

    /// Waits for the next bytes and returns them, or none at the end. Blocks. Not for the cooperative pool.
    ///
    /// - Parameter limit: The maximum number of bytes.
    func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = Foundation.read(number, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return piece }
            // Another program may have made a shared terminal or pipe non-blocking.
            if errno == EAGAIN {
                var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }
}

/// Splits input into lines, piece by piece, and keeps at most `limit` bytes of each line.
///
/// A line ends with a line feed, or a carriage return and a line feed. Input after the last line ending is a line too,
/// unless it is empty.
struct LineSplitter {
    /// The maximum number of bytes kept of a line.
    let limit: Int
    private var pending: [UInt8] = []
    /// The length of the pending line, including bytes that were not kept, capped at two more than the limit.
    private var length = 0

    /// - Parameter limit: The maximum number of bytes kept of a line, at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the lines that end in this piece.
    mutating func lines(in piece: [UInt8]) -> [InputLine] {
        var lines: [InputLine] = []
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            keep(piece[start..<end])
            lines.append(takeLine())
            start = end + 1
        }
        keep(piece[start...])
        return lines
    }

    /// Returns the line without a line ending at the end of the input, if any.
    mutating func lastLine() -> InputLine? {
        length == 0 ? nil : takeLine(isEnded: false)
    }

    /// Keeps one byte more than the limit, because it may be a carriage return that belongs to the line ending.
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
        let isCut = length > limit + 1 || pending.count > limit
        // Copied, because an array made of a slice may share its memory. A short line could keep a long one's memory.
        let kept = pending.withUnsafeBufferPointer { Array($0.prefix(limit)) }
        return InputLine(kept, isCut: isCut)
    }
}

/// One line of input, or one argument.
struct InputLine: Sendable, Hashable {
    /// The line without its ending, truncated if it is too long.
    let bytes: [UInt8]
    /// Whether the line was truncated.
    let isCut: Bool

    /// - Parameters:
    ///   - bytes: The line without its ending.
    ///   - isCut: Whether the line was truncated.
    init(_ bytes: [UInt8], isCut: Bool = false) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// Returns the line as text.
    ///
    /// - Throws: `tooLong` for a truncated line, `notUTF8` with the offset of the first invalid byte.
    func text() throws(URLTextError) -> String {
        guard !isCut else {
            throw URLTextError(.tooLong, at: bytes.count, "at most \(bytes.count) bytes expected")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw URLTextError(.notUTF8, at: InputLine.firstInvalidByte(of: bytes), "the line is not UTF-8")
        }
        return text
    }

    /// The line as a command repeats it. A character split by truncation is left out.
    var content: Bytes {
        guard isCut else { return Bytes(bytes) }
        let whole = InputLine.firstInvalidByte(of: bytes)
        return Bytes(bytes.count - whole < 4 ? Array(bytes[..<whole]) : bytes)
    }

    /// The line for a terminal. Input that is not UTF-8 is shown as its number of bytes.
    var shown: String {
        let content = content
        return content.text.map { isCut ? "\($0)…" : $0 } ?? "(\(content.count) bytes)"
    }

    private static func firstInvalidByte(of bytes: [UInt8]) -> Int {
        var parser = UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var offset = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
        return offset
    }
}
