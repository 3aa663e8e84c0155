import SignalboxRoutes

/// The origin that a text from the private world claims, beside that of the frame which posted it, as the engine knows it.
struct ClaimedOrigin {
    /// The most bytes of a text's first line that are looked at; a token and the longest origin have fewer.
    private static let longestLine = URLText.maximumLength + 64

    private let origin: WebOrigin?

    /// - Parameter text: its first line is a token, a space, and the origin.
    init(in text: String) {
        let line = text.utf8.prefix(ClaimedOrigin.longestLine).prefix { $0 != UInt8(ascii: "\n") }
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else {
            origin = nil
            return
        }
        origin = try? WebOrigin(String(Substring(line[line.index(after: space)...])))
    }

    /// Whether it is the frame's. An opaque origin is nobody's.
    ///
    /// - Parameters:
    ///   - scheme: empty where the frame's origin is opaque.
    ///   - host: an IPv6 address with brackets or without.
    ///   - port: 0 for the scheme's own.
    func isThat(ofScheme scheme: String, host: String, port: Int) -> Bool {
        let needsBrackets = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[")
        let place = (needsBrackets ? "[\(host)]" : host) + (port == 0 ? "" : ":\(port)")
        guard let origin, let frame = try? WebOrigin("\(scheme)://\(place)") else { return false }
        return origin == frame
    }
}
