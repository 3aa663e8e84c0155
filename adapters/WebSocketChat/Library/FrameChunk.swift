/// What the library hands over at once: a frame's content or a part of it.
struct FrameChunk {
    /// Valid during the call that brings it; may be empty.
    let bytes: UnsafeRawBufferPointer
    /// Whether the message ends with it.
    let isFinal: Bool
    let isBinary: Bool
    /// Whether the frame ends with it.
    let endsFrame: Bool
    /// The bits RSV1 to RSV3 of the frame, as they are in its first byte.
    let reserved: UInt8

    static let compressedBit: UInt8 = 0x40
}
