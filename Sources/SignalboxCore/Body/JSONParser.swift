/// Parses one JSON text (RFC 8259) in a single pass and writes its index to a tape.
///
/// The parser does not recurse. Instead, the node of each open container stores the position and member count of the
/// parent container.
struct BodyParser {
    private let text: ByteScan
    private let tape: NodeTape
    private let maximumDepth: Int
    private var index: Int
    private var used: Int
    /// The innermost open container, or -1.
    private var open = -1
    private var isObject = false
    /// The number of members or elements in the open container. ``unusualKey`` is set if the keys must be compared as
    /// `String`s.
    private var members: UInt32 = 0
    private var depth = 0

    private static let unusualKey: UInt32 = 1 << 31

    /// Parses the bytes from `start` to the end of `text` as one JSON text.
    ///
    /// - Parameters:
    ///   - tape: The tape to write nodes to, beginning at position `used`. See
    ///     ``NodeTape/maximumNodes(length:depth:)``.
    /// - Returns: The number of nodes on the tape after parsing. The root is the node at `used`.
    static func parse(
        _ text: ByteScan,
        from start: Int,
        onto tape: NodeTape,
        used: Int,
        depth: Int
    ) throws(BodyParserError) -> Int {
        var parser = BodyParser(text: text, tape: tape, maximumDepth: depth, index: start, used: used)
        try parser.read()
        return parser.used
    }

    private init(text: ByteScan, tape: NodeTape, maximumDepth: Int, index: Int, used: Int) {
        self.text = text
        self.tape = tape
        self.maximumDepth = maximumDepth
        self.index = index
        self.used = used
    }

    @inline(__always)
    private mutating func read() throws(BodyParserError) {
        skipSpace()
        values: while true {
            if isObject { try readKey() }
            let first = text.byte(index)
            if first == UInt8(ascii: "\"") {
                let run = try text.string(from: index &+ 1)
                push(BodyNode.Kind.string.bits | run.flags, from: index &+ 1, to: run.end)
                index = run.end &+ 1
            } else if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                if try begin(first == UInt8(ascii: "{") ? .object : .array) { continue }
            } else if first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") <= 9 {
                let number = try text.number(from: index)
                push(BodyNode.Kind.number.bits | number.flags, from: index, to: number.end)
                index = number.end
            } else {
                try readWord()
            }
            if try finishContainers() { return }
        }
    }

    /// Closes containers that are complete, stopping at a comma or the end of the text.
    ///
    /// - Returns: Whether the end of the text was reached.
    @inline(__always)
    private mutating func finishContainers() throws(BodyParserError) -> Bool {
        while open >= 0 {
            skipSpace()
            let byte = text.byte(index)
            if byte == UInt8(ascii: ",") {
                index &+= 1
                members &+= 1
                skipSpace()
                return false
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw unexpected() }
            try close()
        }
        skipSpace()
        guard index == text.end else { throw unexpected() }
        return true
    }

    /// Opens a container and returns whether it has content.
    @inline(__always)
    private mutating func begin(_ kind: BodyNode.Kind) throws(BodyParserError) -> Bool {
        guard depth < maximumDepth else { throw BodyParserError(code: .tooDeep, position: index) }
        depth &+= 1
        tape[used] = BodyNode(start: index, length: Int(members), next: open, bits: kind.bits)
        open = used
        used &+= 1
        isObject = kind == .object
        members = 0
        index &+= 1
        skipSpace()
        guard text.byte(index) != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            try close()
            return false
        }
        members = 1
        return true
    }

    @inline(__always)
    private mutating func close() throws(BodyParserError) {
        index &+= 1
        let node = tape[open]
        let count = members & ~BodyParser.unusualKey
        if isObject, count > 1 {
            let keys = KeyCheck(text: text, tape: tape, first: open &+ 1, end: used, count: Int(count))
            try keys.run(asStrings: members != count)
        }
        let kind: BodyNode.Kind = isObject ? .object : .array
        let start = Int(node.start)
        tape[open] = BodyNode(
            start: start,
            length: index &- start,
            next: used,
            bits: BodyNode.container(kind, count: count)
        )
        depth &-= 1
        members = node.length
        open = Int(Int32(bitPattern: node.next))
        isObject = open >= 0 && tape[open].bits == BodyNode.Kind.object.bits
    }

    @inline(__always)
    private mutating func readKey() throws(BodyParserError) {
        guard text.byte(index) == UInt8(ascii: "\"") else { throw unexpected() }
        let start = index &+ 1
        let run = try text.key(from: start)
        tape[used] = BodyNode(
            start: start,
            length: run.end &- start,
            next: Int(run.hash),
            bits: BodyNode.Kind.key.bits | run.flags
        )
        used &+= 1
        if run.flags != 0 { members |= BodyParser.unusualKey }
        index = run.end &+ 1
        skipSpace()
        guard text.byte(index) == UInt8(ascii: ":") else { throw unexpected() }
        index &+= 1
        skipSpace()
    }

    @inline(__always)
    private mutating func readWord() throws(BodyParserError) {
        let word = text.word(index)
        let start = index
        if word & 0xFFFF_FFFF == 0x6575_7274 {
            index &+= 4
            push(BodyNode.Kind.true.bits, from: start, to: index)
        } else if word & 0xFF_FFFF_FFFF == 0x65_736C_6166 {
            index &+= 5
            push(BodyNode.Kind.false.bits, from: start, to: index)
        } else if word & 0xFFFF_FFFF == 0x6C6C_756E {
            index &+= 4
            push(BodyNode.Kind.null.bits, from: start, to: index)
        } else {
            throw unexpected()
        }
    }

    @inline(__always)
    private mutating func push(_ bits: UInt32, from start: Int, to end: Int) {
        tape[used] = BodyNode(start: start, length: end &- start, next: used &+ 1, bits: bits)
        used &+= 1
    }

    @inline(__always)
    private mutating func skipSpace() {
        while true {
            switch text.byte(index) {
            case 0x20, 0x0A, 0x0D, 0x09: index &+= 1
            default: return
            }
        }
    }

    /// Returns the error for an unexpected byte at the current position.
    @inline(never)
    private func unexpected() -> BodyParserError {
        BodyParserError(code: index < text.end ? .invalidSyntax : .unexpectedEnd, position: index)
    }
}

/// Rejects an object in which two names are equal as `String`s. The check runs when the object closes, and the error
/// reports the later name.
///
/// Usually, a 64-bit filter shows that all names differ. If the filter does not, the check falls back to methods with
/// bounded costs: a few keys are compared in pairs, and many keys are entered in a table. If crafted keys crowd the
/// table, or if a name is not plain ASCII, the names go into a `Set` of `String`s, whose hash seed is unknown to
/// senders.
struct KeyCheck {
    let text: ByteScan
    let tape: NodeTape
    let first: Int
    let end: Int
    let count: Int

    private static let pairsLimit = 16

    @inline(__always)
    func run(asStrings: Bool) throws(BodyParserError) {
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
    private func compare() throws(BodyParserError) {
        if count <= KeyCheck.pairsLimit {
            try comparePairs()
        } else if try !compareInTable() {
            try compareStrings()
        }
    }

    private func comparePairs() throws(BodyParserError) {
        var key = first
        while key < end {
            var earlier = first
            while earlier < key {
                guard !isSame(earlier, key) else { throw error(for: key) }
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

    /// Compares the keys in a hash table.
    ///
    /// - Returns: `true` if the check is complete, or `false` if crafted keys crowd the table.
    private func compareInTable() throws(BodyParserError) -> Bool {
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
        case .repeated(let key): throw error(for: key)
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
    private func compareStrings() throws(BodyParserError) {
        var seen = Set<String>(minimumCapacity: count)
        var key = first
        while key < end {
            let node = tape[key]
            let name = text.string(at: Int(node.start), length: Int(node.length), flags: node.bits)
            guard seen.insert(name).inserted else { throw error(for: key) }
            key = after(key)
        }
    }

    private func error(for key: Int) -> BodyParserError {
        BodyParserError(code: .duplicateKey, position: Int(tape[key].start) - 1)
    }
}
