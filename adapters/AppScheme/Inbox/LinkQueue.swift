/// The links that wait to be delivered, oldest first, within bounds. Without threads or waiting.
struct LinkQueue: Sendable {
    /// The most links that wait.
    let links: Int
    /// The most bytes that they have together.
    let bytes: Int
    /// How many links were not taken.
    private(set) var refused = 0
    private var told = 0
    private(set) var isClosed = false
    private(set) var byteCount = 0
    /// The older part, the oldest link last.
    private var outgoing: [String] = []
    /// The newer part, the newest link last.
    private var incoming: [String] = []

    init(links: Int, bytes: Int) {
        self.links = links
        self.bytes = bytes
    }

    var count: Int { outgoing.count + incoming.count }

    /// - Returns: `false` when the link does not fit, or nothing is taken any more.
    mutating func append(_ link: String) -> Bool {
        let length = link.utf8.count
        guard !isClosed, count < links, length <= bytes - byteCount else {
            refused += 1
            return false
        }
        byteCount += length
        incoming.append(link)
        return true
    }

    /// Takes the oldest link out.
    mutating func take() -> String? {
        if outgoing.isEmpty {
            outgoing = incoming.reversed()
            incoming = []
        }
        guard let link = outgoing.popLast() else { return nil }
        byteCount -= link.utf8.count
        return link
    }

    /// Puts back what was taken last, before all others. It was taken in once and is not refused now: for so long the
    /// bounds may be exceeded by it.
    mutating func putBack(_ link: String) {
        byteCount += link.utf8.count
        outgoing.append(link)
    }

    /// - Returns: how many were refused since this was asked last.
    mutating func takeUntoldRefusals() -> Int {
        defer { told = refused }
        return refused - told
    }

    mutating func close() {
        isClosed = true
    }
}
