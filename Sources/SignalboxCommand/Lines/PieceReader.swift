import Dispatch

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
