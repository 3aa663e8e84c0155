/// Where in a reply something is written: the way back to the root, and how deep it is.
final class WritePlace {
    private let parent: WritePlace?
    private let key: (any CodingKey)?
    /// Arrays and objects that are open here.
    private let depth: Int
    /// Calls of `encode(to:)` on the way here: they nest without opening anything when a value encodes itself.
    private let calls: Int
    private let limit: Int

    init(limit: Int) {
        parent = nil
        key = nil
        depth = 0
        calls = 0
        self.limit = limit
    }

    private init(parent: WritePlace, key: (any CodingKey)?, depth: Int, calls: Int) {
        self.parent = parent
        self.key = key
        self.depth = depth
        self.calls = calls
        limit = parent.limit
    }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var place: WritePlace? = self
        while let current = place {
            if let key = current.key { path.append(key) }
            place = current.parent
        }
        return path.reversed()
    }

    /// Within an array or object that is opened here.
    func below(_ key: any CodingKey) -> WritePlace {
        WritePlace(parent: self, key: key, depth: depth + 1, calls: calls)
    }

    /// Within a call of `encode(to:)`.
    func calling() throws(BodyError) -> WritePlace {
        guard calls < limit * 4 else { throw error(.tooDeep, "a value that ends expected") }
        return WritePlace(parent: self, key: nil, depth: depth, calls: calls + 1)
    }

    /// Whatever is written inside a container passes here.
    func checkDepth() throws(BodyError) {
        guard depth <= limit else { throw error(.tooDeep, "at most \(limit) levels expected") }
    }

    func error(_ code: BodyError.Code, _ detail: String) -> BodyError {
        BodyError(code, path: BodyPath.text(codingPath, root: "reply"), detail: detail)
    }
}
