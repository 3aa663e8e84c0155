extension ByteScan {
    /// The text of a string that was read before, its escapes resolved.
    @inline(__always)
    func string(at start: Int, length: Int, flags: UInt32) -> String {
        precondition(start >= 0 && length >= 0 && start &+ length <= end, "a string lies within its buffer")
        guard flags & BodyNode.escaped != 0 else {
            return String(decoding: UnsafeBufferPointer(start: base + start, count: length), as: UTF8.self)
        }
        return unescapedString(at: start, length: length)
    }

    @inline(never)
    private func unescapedString(at start: Int, length: Int) -> String {
        String(unsafeUninitializedCapacity: length) { buffer in
            var used = 0
            unescape(at: start, length: length) { byte in
                buffer[used] = byte
                used += 1
            }
            return used
        }
    }

    /// Calls `emit` with each byte of a string that was read before, its escapes resolved: never more bytes than the
    /// string has.
    func unescape(at start: Int, length: Int, emit: (UInt8) -> Void) {
        var index = start
        while index < start + length {
            guard byte(index) == UInt8(ascii: "\\"), let escape = try? escape(at: index) else {
                emit(byte(index))
                index += 1
                continue
            }
            UTF8.encode(Unicode.Scalar(escape.scalar) ?? "\u{FFFD}", into: emit)
            index = escape.end
        }
    }
}

extension UTF8 {
    fileprivate static func encode(_ scalar: Unicode.Scalar, into emit: (UInt8) -> Void) {
        encode(scalar)?.forEach(emit)
    }
}
