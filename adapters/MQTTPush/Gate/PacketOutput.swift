/// The bytes of packets that wait to be written to the broker, in the order in which the packets were encoded.
///
/// The output belongs to one connection and its thread. It reuses its memory, so an encoded packet causes no allocation
/// once the memory has the size that the connection needs.
///
/// The number of bytes is bounded: a packet is added only if the output is empty or stays within its limit. Only
/// acknowledgements and packets of two bytes are added in any case, because the connection must not lose them and
/// because their number is bounded by the receive maximum and the keepalive.
struct PacketOutput: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// The bytes before this index may hold a secret, so their memory is overwritten when they leave it.
    private var secretEnd = 0
    private let initialCapacity: Int
    private let limit: Int

    /// - Parameters:
    ///   - capacity: The initial size of the memory, in bytes, which the output returns to after a larger packet.
    ///   - limit: The number of bytes up to which packets are added to those that wait already.
    init(capacity: Int = 16 * 1_024, limit: Int = 1_024 * 1_024) {
        initialCapacity = max(16, capacity)
        self.limit = max(initialCapacity, limit)
        storage = .allocate(byteCount: initialCapacity, alignment: 1)
    }

    deinit {
        if secretEnd > start { PacketOutput.overwrite(storage, start..<end) }
        storage.deallocate()
    }

    /// The number of bytes that wait to be written.
    var count: Int { end &- start }

    var isEmpty: Bool { start == end }

    /// The size of the memory, in bytes.
    var capacity: Int { storage.count }

    // MARK: - Writing to the broker

    /// Calls a closure with all bytes that wait to be written. The pointer is valid only during the call.
    borrowing func withBytes<R, E>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(rebasing: storage[start..<end]))
    }

    /// Removes the first bytes, which the caller has written. If they may hold a secret, their memory is overwritten.
    mutating func removeFirst(_ count: Int) {
        let removed = start..<(start &+ min(max(0, count), self.count))
        if secretEnd > start { PacketOutput.overwrite(storage, start..<min(removed.upperBound, secretEnd)) }
        start = removed.upperBound
        if start == end { becomeEmpty() }
    }

    /// Removes and overwrites all bytes, for example because the connection has ended.
    mutating func resetBytes() {
        PacketOutput.overwrite(storage, start..<end)
        becomeEmpty()
    }

    private mutating func becomeEmpty() {
        start = 0
        end = 0
        secretEnd = 0
        guard storage.count > limit else { return }
        storage.deallocate()
        storage = .allocate(byteCount: initialCapacity, alignment: 1)
    }

    // MARK: - Adding packets

    /// Adds the acknowledgement of a QoS 1 message. In MQTT 5, a PUBACK without a reason code reports success
    /// (MQTT 5.0, 3.4.2.1).
    mutating func acknowledge(packet: UInt16) {
        makeRoom(for: 4)
        let word = 0x4002_0000 | UInt32(packet)
        storage.storeBytes(of: word.bigEndian, toByteOffset: end, as: UInt32.self)
        end &+= 4
    }

    /// Adds a packet that consists of a fixed header only.
    mutating func addHeader(_ first: UInt8) {
        makeRoom(for: 2)
        storage.storeBytes(of: (UInt16(first) << 8).bigEndian, toByteOffset: end, as: UInt16.self)
        end &+= 2
    }

    /// Adds a packet. If this method throws an error, the output is unchanged.
    ///
    /// - Parameters:
    ///   - first: The first byte of the fixed header, which has the packet's type and flags.
    ///   - content: Everything after the fixed header.
    ///   - packetLimit: The largest packet that the server accepts, in bytes, including the fixed header
    ///     (MQTT 5.0, 3.2.2.3.6).
    ///   - isSecret: Whether the memory of the packet must be overwritten once the packet has been written.
    mutating func add(
        _ first: UInt8,
        _ content: some PacketContent,
        packetLimit: UInt32 = .max,
        isSecret: Bool = false
    ) throws(PacketEncodingError) {
        let size = try PacketSize(of: content)
        try add(first, size, packetLimit: packetLimit, isSecret: isSecret) { writer throws(PacketEncodingError) in
            try content.write(to: &writer)
        }
    }

    /// Adds a packet whose size is known. If this method throws an error, the output is unchanged.
    ///
    /// - Parameters:
    ///   - size: The size of everything after the fixed header.
    ///   - write: Writes everything after the fixed header.
    @inline(__always)
    mutating func add(
        _ first: UInt8,
        _ size: PacketSize,
        packetLimit: UInt32 = .max,
        isSecret: Bool = false,
        _ write: (inout PacketWriter) throws(PacketEncodingError) -> Void
    ) throws(PacketEncodingError) {
        let length = try size.packetLength(atMost: packetLimit)
        guard isEmpty || length <= limit &- count else { throw .outputFull }
        makeRoom(for: length)
        var writer = PacketWriter(UnsafeMutableRawBufferPointer(rebasing: storage[end..<(end &+ length)]))
        writer.byte(first)
        writer.variable(UInt32(truncatingIfNeeded: size.count))
        do throws(PacketEncodingError) {
            try write(&writer)
            guard writer.isComplete else { throw .inconsistentLength }
        } catch {
            if isSecret { PacketOutput.overwrite(storage, end..<(end &+ length)) }
            throw error
        }
        end &+= length
        if isSecret { secretEnd = end }
    }

    // MARK: - Memory

    /// Makes room for bytes at the end. Bytes are moved only if at least as many bytes have been removed, so each byte
    /// is moved at most once on average.
    @inline(__always)
    private mutating func makeRoom(for length: Int) {
        guard storage.count &- end < length else { return }
        move(toFit: length)
    }

    @inline(never)
    private mutating func move(toFit length: Int) {
        let moved = start..<end
        let needed = count &+ length
        let old = storage
        if needed > old.count || start < count {
            let capacity = max(needed, min(2 &* old.count, old.count &+ limit))
            storage = .allocate(byteCount: capacity, alignment: 1)
        }
        storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: old[moved]))
        // In the same memory, the old and the new place do not overlap.
        if secretEnd > start { PacketOutput.overwrite(old, moved) }
        if storage.baseAddress != old.baseAddress { old.deallocate() }
        secretEnd = max(0, secretEnd &- start)
        end = count
        start = 0
    }

    /// Overwrites memory that may hold a secret. The compiler cannot leave out the stores, because the memory comes from
    /// an allocator that it cannot see into.
    @inline(never)
    private static func overwrite(_ storage: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        UnsafeMutableRawBufferPointer(rebasing: storage[range]).initializeMemory(as: UInt8.self, repeating: 0)
    }
}
