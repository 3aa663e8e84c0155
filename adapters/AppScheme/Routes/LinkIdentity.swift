import SignalboxCore
import SignalboxRoutes

/// What makes a one-time link the same link, however it is written: all that its route looks at.
///
/// That is the scheme, host and port, the decoded segments, what stands for captures, and the members. Not the
/// fragment, items that do not count and their order, the letter case of a host that is written out, or a slash at the
/// end.
struct LinkIdentity {
    private var bytes: [UInt8] = []

    /// - Parameter members: what host, path and query give to action and body; no name twice.
    init(_ url: URLText, members: [(name: String, value: String)]) {
        add(url.scheme)
        add(url.host.map { [$0.lowercasedASCII] } ?? [])
        add(url.port.map { ["\($0)"] } ?? [])
        add(url.hasOpaquePath ? "opaque" : "")
        let segments = url.segments
        add(segments.last == "" ? segments.dropLast() : segments)
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        add(sorted.flatMap { [$0.name, $0.value] })
    }

    var id: ActionID {
        ActionID(unchecked: Bytes("link-\(LinkDigest.hexadecimal(bytes))"))
    }

    private mutating func add(_ texts: [String]) {
        add("\(texts.count)")
        for text in texts { add(text) }
    }

    /// The length goes first, so that no two lists of texts give the same bytes.
    private mutating func add(_ text: String) {
        bytes += Array("\(text.utf8.count):".utf8)
        bytes += Array(text.utf8)
    }
}
