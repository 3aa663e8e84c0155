/// Compares short runs of bytes in words, as action names and member names are compared for every message.
package enum ByteComparison {
    /// Whether both hold the same bytes.
    @inlinable
    package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var position = 0
        var difference: UInt64 = 0
        while position + 8 <= left.count {
            difference |=
                left.loadUnaligned(fromByteOffset: position, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            position += 8
        }
        while position < left.count {
            difference |= UInt64(left[position] ^ right[position])
            position += 1
        }
        return difference == 0
    }
}
