import Dispatch
import Foundation
import SignalboxCore
import SignalboxRoutes

/// Reads a file or pipe piece by piece, on a queue of its own: no thread of the cooperative pool waits for whoever writes.
///
/// For one reader at a time.
struct PieceReader: Sendable {
    /// The most bytes of one piece.
    static let pieceSize = 64 << 10

    private let descriptor: InputDescriptor
    private let queue = DispatchQueue(label: "signalbox.input")

    /// - Parameter descriptor: open for reading.
    init(_ descriptor: InputDescriptor) {
        self.descriptor = descriptor
    }

    /// Opens a file; a FIFO's writer is waited for.
    ///
    /// - Throws: why it cannot be opened; `ECANCELED` when the task was cancelled before it was.
    static func opening(_ path: String) async throws(SystemError) -> PieceReader {
        let opened: Result<InputDescriptor, SystemError> = await waiting(
            on: DispatchQueue(label: "signalbox.input"),
            whenCancelled: .failure(.cancelled)
        ) {
            Result { () throws(SystemError) in try InputDescriptor(path: path) }
        }
        return PieceReader(try opened.get())
    }

    /// The next piece, waited for.
    ///
    /// - Returns: no bytes at the end, and when the task is cancelled: what is read after that is lost.
    func next() async throws(SystemError) -> [UInt8] {
        let piece: Result<[UInt8], SystemError> = await PieceReader.waiting(on: queue, whenCancelled: .success([])) {
            [descriptor] in
            Result { () throws(SystemError) in try descriptor.read(upTo: PieceReader.pieceSize) }
        }
        return try piece.get()
    }

    /// Does what may block on the queue. When the task is cancelled the queue's thread may wait on; nobody does for it.
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

/// A file that is open for reading, and closed when nobody needs it any more.
final class InputDescriptor: Sendable {
    let number: Int32
    private let isOurs: Bool

    /// The process's stdin, which stays open.
    static let standardInput = InputDescriptor(number: STDIN_FILENO, isOurs: false)

    private init(number: Int32, isOurs: Bool) {
        self.number = number
        self.isOurs = isOurs
    }

    /// Opens a file. Blocks while a FIFO has no writer; not for the cooperative pool.
    ///
    /// - Parameter path: relative to the working directory.
    convenience init(path: String) throws(SystemError) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError.last }
        self.init(number: number, isOurs: true)
    }

    /// Looks whether a file can probably be opened, without waiting for a FIFO's writer.
    ///
    /// - Throws: ``NamedFileError`` when it is not there, must not be read, or is a folder.
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

    /// The next bytes, waited for; none at the end. Blocks; not for the cooperative pool.
    ///
    /// - Parameter limit: the most bytes.
    func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = Foundation.read(number, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return piece }
            // A descriptor that another program made non-blocking, as a shared terminal or pipe may be.
            if errno == EAGAIN {
                var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw SystemError.last
            }
        }
    }
}

/// Cuts input into lines as it comes, piece by piece, and keeps no more of a line than its limit.
///
/// A line ends with a line feed, or a carriage return and a line feed. What follows the last line's end is a line too,
/// unless there is nothing.
struct LineSplitter {
    /// The most bytes of a line that are kept.
    let limit: Int
    private var pending: [UInt8] = []
    /// Bytes of the pending line, those that were not kept included, up to a few more than the limit.
    private var length = 0

    /// - Parameter limit: the most bytes of a line that are kept; at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// The lines that end in this piece.
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

    /// The line that the input's end ends, if there is one.
    mutating func lastLine() -> InputLine? {
        length == 0 ? nil : takeLine(isEnded: false)
    }

    /// A byte more than the limit is kept, as it may be a carriage return that belongs to the line's end.
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
        // Copied: an array made of a slice may share its memory, and a short line would keep as much as the longest one.
        let kept = pending.withUnsafeBufferPointer { Array($0.prefix(limit)) }
        return InputLine(kept, isCut: isCut)
    }
}

/// One line of input, or one argument, that should be a URL.
struct InputLine: Sendable, Hashable {
    /// The line without its end; of a line that is too long, its beginning.
    let bytes: [UInt8]
    /// Whether the line had more bytes than were kept.
    let isCut: Bool

    /// - Parameters:
    ///   - bytes: the line without its end.
    ///   - isCut: whether there was more of it.
    init(_ bytes: [UInt8], isCut: Bool = false) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// The line as text.
    ///
    /// - Throws: `tooLong` for a line that was cut, `notUTF8` with the first byte that is not.
    func text() throws(URLTextError) -> String {
        guard !isCut else {
            throw URLTextError(.tooLong, at: bytes.count, "at most \(bytes.count) bytes expected")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw URLTextError(.notUTF8, at: InputLine.firstInvalidByte(of: bytes), "the line is not UTF-8")
        }
        return text
    }

    /// The line as a command repeats it; a character that was cut in two is left out.
    var content: Bytes {
        guard isCut else { return Bytes(bytes) }
        let whole = InputLine.firstInvalidByte(of: bytes)
        return Bytes(bytes.count - whole < 4 ? Array(bytes[..<whole]) : bytes)
    }

    /// The line for a person; what is not UTF-8 by its number of bytes.
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
