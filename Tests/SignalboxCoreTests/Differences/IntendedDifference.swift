/// What Signalbox means to do otherwise than Foundation: the closed list, a case for each row of the table in
/// docs/json.md, whose first column is the raw value.
enum IntendedDifference: String, CaseIterable {
    case repeatedName = "two members of one name"
    case equalNames = #"names equal as `String`s but not as bytes (NFC and NFD, `"a"` and `"\u0061"`)"#
    case trailingComma = "trailing comma"
    case byteOrderMark = "byte order mark"
    case otherEncoding = "encodings other than UTF-8"
    case unaskedFault = "a number or string that is no JSON, as a value that nobody asks for"
    case fractionAsInteger = "`1.0` or `1e2` asked for as an integer"
    case inexactInteger = "`9007199254740993` asked for as `Double`"
    case hugeNumber = "`1e400`"
    case tinyNumber = "`1e-400` or `0e2` asked for as `Double`"
    case longNumber = "a number of many digits"
    case nesting = "more than 64 arrays and objects open at once"
    case size = "more than 65,536 bytes"
    case decodingError = "a `DecodingError`"
    case absentSuperDecoder = "`superDecoder(forKey:)` of an absent member"
    case orderOfReply = "names in a reply"

    /// Whether this is the Foundation that the table tells of. Apple's own reads some of these documents otherwise.
    static var isMeasuredHere: Bool {
        #if os(Linux)
        true
        #else
        false
        #endif
    }
}
