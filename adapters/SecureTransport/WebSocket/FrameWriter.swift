import AdapterSupport

/// Holds one frame of a WebSocket client (RFC 6455, 5.2) until the link below has taken all of its bytes.
struct FrameWriter: Sendable {
    /// The maximum number of bytes in a frame's content. Longer data needs several frames.
    static let contentLimit = 65_536

    /// The frame up to the end of `unsent`. The rest of the array is only kept so that no frame needs an allocation.
    private var storage: [UInt8] = []
    private var unsent = 0..<0
    /// The bytes of the array that the last frame has left.
    private var used = 0
    private var masks = FrameMasks()

    var isEmpty: Bool { unsent.isEmpty }

    /// How many bytes of the frame the link has not taken. The content is at the end of a frame.
    var unsentBytes: Int { unsent.count }

    /// Encodes a frame. The writer must be empty.
    ///
    /// - Parameters:
    ///   - content: At most ``contentLimit`` bytes, of which this method makes a masked copy.
    ///   - mask: The mask, of which only tests choose another than a random one.
    mutating func begin(_ opcode: FrameOpcode, _ content: UnsafeRawBufferPointer, mask: UInt32? = nil) {
        let count = min(content.count, FrameWriter.contentLimit)
        // Each frame is a whole message, or a control frame.
        var header: (bytes: UInt64, count: Int) = (UInt64(0x80 | opcode.rawValue), 2)
        switch count {
        case ...125: header.bytes |= UInt64(0x80 | count) << 8
        case ...0xFFFF:
            header.bytes |= UInt64(0x80 | 126) << 8 | UInt64(UInt16(count).byteSwapped) << 16
            header.count = 4
        default:
            header.bytes |= UInt64(0x80 | 127) << 8
            header.count = 10
        }
        let start = header.count + 4
        // The header is stored as a whole word.
        let size = max(start + count, MemoryLayout<UInt64>.size)
        if storage.count < size { storage.append(contentsOf: repeatElement(0, count: size - storage.count)) }
        let key = (mask ?? masks.next()).littleEndian
        storage.withUnsafeMutableBytes { storage in
            storage.storeBytes(of: header.bytes.littleEndian, as: UInt64.self)
            if header.count == 10 { storage.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self) }
            storage.storeBytes(of: key, toByteOffset: header.count, as: UInt32.self)
            FrameMasks.mask(content, count, key, into: storage, at: start)
            // What a longer frame has left may be a password, whose mask follows from the known bytes before it.
            for index in size..<max(size, used) { storage[index] = 0 }
        }
        used = size
        unsent = 0..<(start + count)
    }

    /// Gives the link as many bytes of the frame as it takes.
    mutating func send(to link: any Link) throws(LinkError) {
        guard !isEmpty else { return }
        let range = unsent
        let count = try storage.withUnsafeBufferPointer { storage throws(LinkError) in
            try link.write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: storage[range])))
        }
        unsent = (range.lowerBound + max(0, min(count, range.count)))..<range.upperBound
    }
}

/// Masks that a server, and what runs on the client's machine, cannot predict (RFC 6455, 5.3).
///
/// The system gives them in groups, because one call per frame would cost more than the frame.
package struct FrameMasks: Sendable {
    private static let groupSize = 64
    private var group: [UInt32] = []

    package init() {}

    package mutating func next() -> UInt32 {
        if let mask = group.popLast() { return mask }
        group.append(contentsOf: repeatElement(0, count: FrameMasks.groupSize))
        if !group.withUnsafeMutableBytes({ FrameMasks.fill($0) }) {
            var generator = SystemRandomNumberGenerator()
            for index in group.indices { group[index] = generator.next() }
        }
        return group.removeLast()
    }

    /// Copies the first `count` bytes of the content, masked (RFC 6455, 5.3).
    ///
    /// - Parameters:
    ///   - key: The mask, whose first byte in memory belongs to the first byte of the content.
    ///   - start: Where the copy begins in the storage, which must have room for it.
    package static func mask(
        _ content: UnsafeRawBufferPointer,
        _ count: Int,
        _ key: UInt32,
        into storage: UnsafeMutableRawBufferPointer,
        at start: Int
    ) {
        // The same four bytes twice are the same in each byte order.
        let wide = UInt64(key) | UInt64(key) << 32
        let wholeWords = count & ~7
        for index in stride(from: 0, to: wholeWords, by: 8) {
            let word = content.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ wide
            storage.storeBytes(of: word, toByteOffset: start + index, as: UInt64.self)
        }
        withUnsafeBytes(of: wide) { wide in
            for index in wholeWords..<count { storage[start + index] = content[index] ^ wide[index & 7] }
        }
    }

    /// - Parameter bytes: At most 256 bytes, which is the limit of `getentropy`.
    private static func fill(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        #if canImport(Darwin)
        arc4random_buf(start, bytes.count)
        return true
        #else
        return getentropy(start, bytes.count) == 0
        #endif
    }
}
