/// Where the parts of a URL are in its normal form, in bytes.
struct URLPlaces: Sendable {
    var schemeEnd = 0
    var host: Range<Int>?
    /// Where the path begins; before it are scheme and authority.
    var path = 0..<0
    var query: Range<Int>?
    var fragment: Range<Int>?
}
