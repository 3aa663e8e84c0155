/// Puts the bridge's script into a page, before any other.
enum ScriptTag {
    private static let tag = Array("<script src=\"\(BrowserConfiguration.scriptPath)\"></script>".utf8)

    /// The page with the tag as the first element of its head: where a parser that has met nothing but white space,
    /// comments, a document type and the tags `html` and `head` stands (HTML, 13.2.6.4.1 to 13.2.6.4.4). Without a head in
    /// the text the tag begins it.
    static func added(to page: [UInt8]) -> [UInt8] {
        let place = page.withUnsafeBytes { HTMLPrologue($0).end }
        return Array(page[..<place]) + tag + page[place...]
    }
}
