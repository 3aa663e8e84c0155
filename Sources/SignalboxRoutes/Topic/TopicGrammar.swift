/// The rules that names, filters and patterns share.
enum TopicGrammar {
    static let separator = UInt8(ascii: "/")
    static let dollar = UInt8(ascii: "$")
    static let singleLevel = UInt8(ascii: "+")
    static let multiLevel = UInt8(ascii: "#")
    static let sharePrefix = "$share/"

    static func isWildcard(_ byte: UInt8) -> Bool {
        byte == singleLevel || byte == multiLevel
    }

    static func checkLength(_ bytes: String.UTF8View) throws(TopicError) {
        if bytes.isEmpty { throw TopicError(.empty, at: 0) }
        if bytes.count > TopicName.maximumLength { throw TopicError(.tooLong, at: TopicName.maximumLength) }
    }

    /// Ends with 0xFF, which no UTF-8 text contains, so that neighbouring texts cannot run together.
    static func hash(_ text: String, into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        hasher.combine(0xFF as UInt8)
    }

    /// Where the filter proper begins: behind `$share/NAME/`, or at 0 when the subscription is not shared.
    ///
    /// `$share` without a slash is an ordinary level.
    static func filterStart(in bytes: [UInt8]) throws(TopicError) -> Int {
        guard bytes.starts(with: sharePrefix.utf8) else { return 0 }
        let nameStart = sharePrefix.utf8.count
        let nameEnd = bytes[nameStart...].firstIndex(of: separator) ?? bytes.endIndex
        let name = bytes[nameStart..<nameEnd]
        if name.isEmpty || name.contains(where: isWildcard) { throw TopicError(.invalidShareName, at: nameStart) }
        let start = nameEnd + 1
        if start >= bytes.endIndex { throw TopicError(.missingSharedFilter, at: bytes.endIndex) }
        return start
    }

    /// Checks U+0000 and the places of the wildcards, from `start` on.
    static func checkWildcards(in bytes: [UInt8], from start: Int) throws(TopicError) {
        for (offset, byte) in bytes.enumerated() {
            if byte == 0 { throw TopicError(.nullCharacter, at: offset) }
            guard offset >= start, isWildcard(byte) else { continue }
            let beginsLevel = offset == start || bytes[offset - 1] == separator
            let isLast = offset + 1 == bytes.endIndex
            guard beginsLevel, isLast || bytes[offset + 1] == separator else {
                throw TopicError(.wildcardNotAlone, at: offset)
            }
            if byte == multiLevel && !isLast { throw TopicError(.multiLevelNotLast, at: offset) }
        }
    }
}
