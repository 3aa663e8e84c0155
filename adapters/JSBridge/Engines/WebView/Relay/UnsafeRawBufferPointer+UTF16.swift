extension UnsafeRawBufferPointer {
    /// How many UTF-16 code units this text has, which is UTF-8: as JavaScript counts it.
    var utf16Length: Int {
        reduce(into: 0) { count, byte in
            // A character's first byte; one of four bytes has two units.
            if byte & 0xC0 != 0x80 { count += byte >= 0xF0 ? 2 : 1 }
        }
    }
}
