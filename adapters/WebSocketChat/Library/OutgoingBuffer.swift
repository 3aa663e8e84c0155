import CLibwebsockets

/// Memory for the message that is being sent, with room for the frame's head before it.
///
/// The library writes into it (head, mask), and is done with it when the call that sends returns.
final class OutgoingBuffer {
    private static let keptBytes = 65_536
    private static let head = CLWS_PRE
    private let keepsContent: Bool
    private var memory: UnsafeMutableRawBufferPointer?
    /// What is in it, where that is known: held, so that its storage stays as it is.
    private var content: [UInt8] = []

    /// - Parameter keepsContent: whether nobody changes what is in it, so that the same message need not be copied again for
    ///   the next connection.
    init(keepsContent: Bool = false) {
        self.keepsContent = keepsContent
    }

    deinit {
        memory?.deallocate()
    }

    /// Copies the bytes; what the buffer held before is gone.
    ///
    /// - Returns: where the bytes begin.
    func fill(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8>? {
        let count = OutgoingBuffer.head + bytes.count
        if (memory?.count ?? 0) < count {
            memory?.deallocate()
            memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 512), alignment: 16)
            content = []
        }
        guard let start = memory?.baseAddress?.advanced(by: OutgoingBuffer.head) else { return nil }
        if !holds(bytes) {
            bytes.withUnsafeBytes { source in
                if let base = source.baseAddress { start.copyMemory(from: base, byteCount: source.count) }
            }
            if keepsContent { content = bytes }
        }
        return start.assumingMemoryBound(to: UInt8.self)
    }

    private func holds(_ bytes: [UInt8]) -> Bool {
        guard keepsContent, bytes.count == content.count else { return false }
        return bytes.withUnsafeBytes { new in content.withUnsafeBytes { new.baseAddress == $0.baseAddress } }
    }

    /// Gives memory back that should not be held while nothing is sent.
    func release() {
        guard let held = memory, held.count > OutgoingBuffer.keptBytes else { return }
        held.deallocate()
        memory = nil
        content = []
    }
}
