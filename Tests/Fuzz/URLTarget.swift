import SignalboxRoutes

/// What is read as a URL is in normal form, means the same to a reader of RFC 3986, and is refused with a place inside it
/// otherwise. After a line feed: a reference that is resolved against it.
enum URLTarget {
    static func run(_ input: [UInt8]) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        guard let url = checked(texts[0]) else { return }
        guard texts.count > 1 else { return }
        do throws(URLTextError) {
            let other = try URLText(texts[1], relativeTo: url)
            require((try? URLText(other.text)) == other, "a resolved URL is in normal form")
        } catch {
            require((0...texts[1].utf8.count).contains(error.offset), "a place in the reference \(texts[1])")
        }
    }

    private static func checked(_ text: String) -> URLText? {
        do throws(URLTextError) {
            let url = try URLText(text)
            require((try? URLText(url.text)) == url, "the normal form of \(text) is its own")
            require(url.text.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }, "the normal form of \(text) is ASCII")
            require(url.text.utf8.starts(with: "\(url.scheme):".utf8), "\(text) begins with its scheme")
            let other = RFC3986Reading(text)
            require(isSameHost(url.host, other.host), "the host of \(text)")
            require(isSamePath(url.segments, other.segments), "the path of \(text)")
            _ = try? url.queryItems()
            if let origin = url.origin { require((try? WebOrigin(origin.description)) == origin, "\(origin)") }
            return url
        } catch {
            require((0...text.utf8.count).contains(error.offset), "a place in \(text)")
            return nil
        }
    }

    /// Addresses in brackets have several spellings.
    private static func isSameHost(_ one: String?, _ other: String?) -> Bool {
        if let one, let other, one.hasPrefix("["), other.hasPrefix("[") { return true }
        return one?.lowercased() == other
    }

    private static func isSamePath(_ one: [String], _ other: [String]) -> Bool {
        one == other || (one == [""] && other.isEmpty)
    }
}
