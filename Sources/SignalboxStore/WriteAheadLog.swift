#if Store
/// The write-ahead log that a program has left beside a database, as SQLite will read it.
///
/// SQLite reads the log up to the last commit before the first frame that is not valid, and ignores the rest without a word. So this
/// reads it first. See https://sqlite.org/fileformat2.html#walformat for the format.
struct WriteAheadLog {
    /// How a log ends.
    enum End: Equatable {
        /// With a commit, or there is no log. Frames of an earlier generation, which were checkpointed, may follow.
        case committed
        /// With valid frames of a transaction that was not committed, as after a crash.
        case uncommitted
        /// In the middle of a frame, as after lost power. A commit that failed before the program was killed may look the same.
        case torn
        /// A frame is damaged, and transactions that were synced follow it. The number of bytes before the damage is the argument.
        case damaged(at: Int)
    }

    /// Larger logs are not read, as opening a store would take too long: one of this size takes about a tenth of a second. SQLite
    /// keeps its log at about 4 MiB, unless a single commit or a long backup needs more.
    static let maximumSize = 64 * 1024 * 1024

    private static let headerSize = 32

    private let file: DiskFile

    /// Returns how the log beside a database ends. A log that cannot be read is left to SQLite, which reports that.
    static func end(of database: String) -> End {
        guard let file = DiskFile(database + "-wal"), 1...maximumSize ~= file.size else { return .committed }
        return WriteAheadLog(file: file).end() ?? .committed
    }

    /// Returns how the log ends, or `nil` if the system cannot read it.
    private func end() -> End? {
        guard let start = file.read(WriteAheadLog.headerSize) else { return nil }
        guard let header = Header(start) else { return .torn }
        guard header.isValid else {
            // SQLite syncs the header before it writes the first frame.
            guard let bytes = file.read(Frame.headerSize) else { return nil }
            let frame = Frame(bytes, after: header.checksum, header)
            return frame?.isOfSameLog == true && frame?.isBlank == false ? .damaged(at: 0) : .torn
        }
        var walk = Walk()
        var previous = header.checksum
        var position = WriteAheadLog.headerSize
        while position < file.size {
            guard let bytes = file.read(Frame.headerSize + header.pageSize) else { return nil }
            let frame = Frame(bytes, after: previous, header)
            if walk.next(frame, isPartial: file.size - position < Frame.headerSize + header.pageSize, at: position) {
                break
            }
            previous = frame?.checksum ?? previous
            position += Frame.headerSize + header.pageSize
        }
        return walk.end
    }
}

/// Follows the frames of a log.
private struct Walk {
    private(set) var end = WriteAheadLog.End.committed
    /// Where the first frame is that is not valid.
    private var brokenAt: Int?
    /// Whether the frame before ended a transaction after ``brokenAt``.
    private var isAfterCommit = false

    /// - Parameter frame: The frame, or `nil` if not even the start of its header is in the file.
    /// - Returns: Whether the end is known.
    mutating func next(_ frame: Frame?, isPartial: Bool, at position: Int) -> Bool {
        guard let brokenAt else {
            guard !isPartial, let frame, frame.isValid else {
                // Frames that an earlier generation has left are normal.
                if frame?.isOfSameLog ?? true { end = .torn }
                self.brokenAt = position
                isAfterCommit = frame?.endsTransaction ?? false
                return isPartial
            }
            end = frame.endsTransaction ? .committed : .uncommitted
            return false
        }
        guard !isPartial, let frame, frame.isOfSameLog, frame.isIntact else {
            isAfterCommit = false
            return isPartial
        }
        // Each commit is synced before the next begins, so only the last one may be torn.
        guard !isAfterCommit else {
            end = .damaged(at: brokenAt)
            return true
        }
        end = .torn
        isAfterCommit = frame.endsTransaction
        return false
    }
}

/// The first 32 bytes of a log.
private struct Header {
    let pageSize: Int
    let salts: (UInt32, UInt32)
    let checksum: Checksum
    /// Whether the checksum is right.
    let isValid: Bool
    /// Whether checksums read numbers with the most significant byte first.
    let isBigEndian: Bool

    init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let magic = bytes.number(at: 0)
        isBigEndian = magic & 1 == 1
        pageSize = Int(bytes.number(at: 8))
        salts = (bytes.number(at: 16), bytes.number(at: 20))
        checksum = Checksum(first: bytes.number(at: 24), second: bytes.number(at: 28))
        let isSize = (512...65_536).contains(pageSize) && pageSize.nonzeroBitCount == 1
        isValid = magic & ~1 == 0x377f_0682 && isSize && Checksum().adding(bytes[..<24], isBigEndian) == checksum
    }
}

/// A page in a log, and the 24 bytes before it.
private struct Frame {
    static let headerSize = 24

    /// Whether a transaction ends with this frame.
    let endsTransaction: Bool
    let checksum: Checksum
    /// Whether the header consists of zeros: a file system that has lost power may have made the file longer without its content.
    let isBlank: Bool
    /// Whether the frame belongs to the current log. A frame of an earlier log shares neither salt.
    let isOfSameLog: Bool
    /// Whether the checksum is right.
    let isIntact: Bool
    /// Whether SQLite accepts the frame.
    let isValid: Bool

    init?(_ bytes: [UInt8], after previous: Checksum, _ header: Header) {
        guard bytes.count >= Frame.headerSize else { return nil }
        let salts = (bytes.number(at: 8), bytes.number(at: 12))
        isBlank = bytes[..<Frame.headerSize].allSatisfy { $0 == 0 }
        endsTransaction = bytes.number(at: 4) != 0
        checksum = Checksum(first: bytes.number(at: 16), second: bytes.number(at: 20))
        isOfSameLog = salts.0 == header.salts.0 || salts.1 == header.salts.1 || isBlank
        isIntact =
            bytes.number(at: 0) != 0
            && previous.adding(bytes[..<8], header.isBigEndian).adding(bytes[24...], header.isBigEndian) == checksum
        isValid = isIntact && salts == header.salts
    }
}

/// The checksum of a log, which goes on from frame to frame.
private struct Checksum: Equatable {
    var first: UInt32 = 0
    var second: UInt32 = 0

    /// - Parameter bytes: A multiple of 8 bytes; what remains is ignored.
    func adding(_ bytes: ArraySlice<UInt8>, _ isBigEndian: Bool) -> Checksum {
        var (first, second) = (first, second)
        bytes.withUnsafeBytes { bytes in
            for position in stride(from: 0, to: bytes.count - 7, by: 8) {
                let one = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let other = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: other) : UInt32(littleEndian: other)) &+ first
            }
        }
        return Checksum(first: first, second: second)
    }
}

extension [UInt8] {
    /// The big-endian number at a position, or 0 if it is not there.
    fileprivate func number(at position: Int) -> UInt32 {
        dropFirst(position).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
#endif
