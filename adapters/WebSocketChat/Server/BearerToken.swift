/// The token that a request shows, and how.
struct BearerToken: Equatable {
    enum Way: Equatable { case header, subprotocol, query }

    /// What the name of a subprotocol begins with that is a token.
    static let prefix = "signalbox.bearer."
    /// The subprotocol that is offered beside a token, as a token is never agreed to.
    static let companion = "signalbox"
    private static let query = "token"

    let way: Way
    /// Empty when it is not in the form that its way asks for.
    let bytes: [UInt8]

    /// The first of header, subprotocol and, where it is allowed, query that is there; `nil` when none is.
    init?(of request: UpgradeRequest, allowingQuery: Bool) {
        if let shown = request.authorization.flatMap(BearerToken.credentials) {
            way = .header
            bytes = shown
        } else if let offered = request.subprotocols.first(where: { $0.hasPrefix(BearerToken.prefix) }) {
            way = .subprotocol
            bytes = BearerToken.base64URL(offered.utf8.dropFirst(BearerToken.prefix.utf8.count)) ?? []
        } else if allowingQuery, let value = request.queryValue(BearerToken.query) {
            way = .query
            bytes = Array(value.utf8)
        } else {
            return nil
        }
    }

    /// Whether a subprotocol's name is one that only Signalbox gives a meaning.
    static func isOurs(_ subprotocol: String) -> Bool { subprotocol.hasPrefix("signalbox.") }

    /// What follows `Bearer`, in any letter case, and spaces (RFC 6750, 2.1; RFC 9110, 11.1); `nil` for another scheme.
    private static func credentials(_ header: String) -> [UInt8]? {
        let scheme = header.utf8.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
        return Array(header.utf8.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") })
    }

    /// RFC 4648, section 5, without padding.
    private static func base64URL(_ text: Substring.UTF8View) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for digit in text {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            guard held >= 8 else { continue }
            held -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
