/// Finds the first member of a closing object whose name an earlier member has, names being compared as `String`s.
///
/// The common case ends with a filter of 64 bits. What follows is bounded: pairs for few keys, a table for many, and a
/// `Set` of `String`s (which hashes with a secret seed) where the table is crowded or a name is not plain ASCII.
struct KeyCheck {
    let text: ByteScan
    let tape: NodeTape
    let first: Int
    let end: Int
    let count: Int

    private static let pairsLimit = 16

    @inline(__always)
    func run(asStrings: Bool) throws(BodyFault) {
        guard !asStrings else { return try compareStrings() }
        guard mayRepeat() else { return }
        try compare()
    }

    @inline(__always)
    private func mayRepeat() -> Bool {
        guard count <= 64 else { return true }
        var seen: UInt64 = 0
        var key = first
        while key < end {
            let bit: UInt64 = 1 << UInt64(tape[key].next & 63)
            guard seen & bit == 0 else { return true }
            seen |= bit
            key = after(key)
        }
        return false
    }

    @inline(__always)
    private func after(_ key: Int) -> Int { Int(tape[key &+ 1].next) }

    @inline(never)
    private func compare() throws(BodyFault) {
        if count <= KeyCheck.pairsLimit {
            try comparePairs()
        } else if try !compareInTable() {
            try compareStrings()
        }
    }

    private func comparePairs() throws(BodyFault) {
        var key = first
        while key < end {
            var earlier = first
            while earlier < key {
                guard !isSame(earlier, key) else { throw fault(key) }
                earlier = after(earlier)
            }
            key = after(key)
        }
    }

    @inline(__always)
    private func isSame(_ left: Int, _ right: Int) -> Bool {
        let (one, other) = (tape[left], tape[right])
        guard one.next == other.next, one.length == other.length else { return false }
        return text.same(Int(one.start), Int(other.start), length: Int(one.length))
    }

    /// - Returns: whether the check came to its end; `false` when chosen keys crowd the table.
    private func compareInTable() throws(BodyFault) -> Bool {
        var bits = 6
        while 1 << bits < count * 2 { bits += 1 }
        let size = 1 << bits
        let finding = withUnsafeTemporaryAllocation(of: UInt32.self, capacity: size) { slots -> Finding in
            slots.initialize(repeating: 0)
            return fill(slots, mask: size - 1)
        }
        switch finding {
        case .distinct: return true
        case .crowded: return false
        case .repeated(let key): throw fault(key)
        }
    }

    private enum Finding {
        case distinct, crowded
        case repeated(Int)
    }

    private func fill(_ slots: UnsafeMutableBufferPointer<UInt32>, mask: Int) -> Finding {
        var probes = count * 8
        var key = first
        while key < end {
            var slot = Int(tape[key].next) & mask
            while slots[slot] != 0 {
                if isSame(Int(slots[slot]), key) { return .repeated(key) }
                slot = (slot &+ 1) & mask
                probes &-= 1
                if probes == 0 { return .crowded }
            }
            slots[slot] = UInt32(truncatingIfNeeded: key)
            key = after(key)
        }
        return .distinct
    }

    @inline(never)
    private func compareStrings() throws(BodyFault) {
        var seen = Set<String>(minimumCapacity: count)
        var key = first
        while key < end {
            let node = tape[key]
            let name = text.string(at: Int(node.start), length: Int(node.length), flags: node.bits)
            guard seen.insert(name).inserted else { throw fault(key) }
            key = after(key)
        }
    }

    private func fault(_ key: Int) -> BodyFault {
        BodyFault(code: .duplicateKey, position: Int(tape[key].start) - 1)
    }
}
