import SignalboxCore

extension Bytes {
    /// A part of the same memory.
    ///
    /// - Precondition: the range lies within.
    func part(_ range: Range<Int>) -> Bytes {
        precondition(range.upperBound <= count, "a part lies within its whole")
        return Bytes(storage: storage, start: start + UInt32(range.lowerBound), length: UInt32(range.count))
    }
}
