/// Puts a connection's pieces together to messages. Belongs to the service's thread.
struct MessageAssembler {
    /// What a piece made of the message it belongs to.
    enum State: Equatable {
        case incomplete
        /// The piece was the last one.
        case whole
        /// The message has more bytes than the limit, or more empty pieces than ``emptyPieces``.
        case tooBig
    }

    /// How many pieces of a message may be empty: a few are made by compression and by whoever writes in streams, endless
    /// ones by nobody who means well.
    static let emptyPieces = 1_024
    private static let keptBytes = 4_096

    private let limit: Int
    private var held: [UInt8] = []
    private var empties = 0
    private var isWhole = false
    /// Whether a message has begun and not ended.
    private(set) var isUnderWay = false

    /// - Parameter limit: the most bytes of a message.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ piece: MessagePiece) -> State {
        if piece.isFirst { forget() }
        isUnderWay = !piece.isFinal
        if piece.bytes.isEmpty { empties += 1 }
        guard piece.bytes.count <= limit - held.count, empties <= MessageAssembler.emptyPieces else {
            held.append(contentsOf: piece.bytes.prefix(max(0, limit - held.count)))
            return .tooBig
        }
        isWhole = piece.isFirst && piece.isFinal
        if !isWhole { held.append(contentsOf: piece.bytes) }
        return piece.isFinal ? .whole : .incomplete
    }

    /// The message, after `whole`; its beginning, after `tooBig`. Most messages are one piece, which is not copied.
    ///
    /// - Parameter piece: the last one given.
    func withMessage(_ piece: MessagePiece, _ body: (UnsafeRawBufferPointer) -> Void) {
        if isWhole { return body(piece.bytes) }
        held.withUnsafeBytes(body)
    }

    /// Forgets the message and, when it was large, its memory.
    mutating func forget() {
        empties = 0
        isWhole = false
        isUnderWay = false
        if held.isEmpty { return }
        if held.capacity > MessageAssembler.keptBytes { held = [] } else { held.removeAll(keepingCapacity: true) }
    }
}
