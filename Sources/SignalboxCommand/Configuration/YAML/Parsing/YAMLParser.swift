/// Builds the nodes of the only document in a YAML text.
///
/// The text may come from anywhere: the number of levels and the number of nodes are bounded, also through aliases.
struct YAMLParser: ~Copyable {
    private let events: YAMLEvents
    private let maximumNodes: Int
    /// The nodes with anchors. A later node takes over the anchor of an earlier one.
    private var anchors: [String: YAMLNode] = [:]

    /// The readers of the nodes call themselves for each level.
    private static let maximumLevels = 1_000

    private init(_ text: String, maximumNodes: Int) throws(YAMLError) {
        events = try YAMLEvents(of: text)
        self.maximumNodes = maximumNodes
    }

    /// Returns the root of the document, or `nil` if the text has no document.
    ///
    /// - Parameter maximumNodes: The document must have fewer nodes after its aliases are replaced.
    static func root(of text: String, maximumNodes: Int) throws(YAMLError) -> YAMLNode? {
        var parser = try YAMLParser(text, maximumNodes: maximumNodes)
        return try parser.document()
    }

    private mutating func document() throws(YAMLError) -> YAMLNode? {
        var event = try events.next()
        if case .other = event.kind { event = try events.next() }
        guard case .documentStart = event.kind else { return nil }
        let root = try node(events.next(), level: 1)
        // The end of the document, which has no position in the file unless it is written.
        _ = try events.next()
        let end = try events.next()
        guard case .streamEnd = end.kind else {
            throw .syntax(problem: "but found another document", end.position)
        }
        return root
    }

    /// Returns the node that begins with the event.
    private mutating func node(_ event: YAMLEvent, level: Int) throws(YAMLError) -> YAMLNode {
        guard level <= YAMLParser.maximumLevels else { throw YAMLParser.tooDeep(event) }
        let node: YAMLNode
        switch event.kind {
        case .alias: return try alias(event, level: level)
        case .scalar(let text): node = YAMLNode(.scalar(text), tag: event.tag, at: event.position)
        case .sequenceStart:
            node = YAMLNode(.sequence(try elements(level: level)), tag: event.tag, at: event.position)
        case .mappingStart:
            node = YAMLNode(.mapping(try pairs(level: level)), tag: event.tag, at: event.position)
        case .documentStart, .documentEnd, .streamEnd, .sequenceEnd, .mappingEnd, .other:
            // libyaml reports these places as errors itself.
            throw .syntax(problem: "did not find expected node content", event.position)
        }
        guard node.size < maximumNodes else { throw .tooManyValues }
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    private func alias(_ event: YAMLEvent, level: Int) throws(YAMLError) -> YAMLNode {
        guard let node = event.anchor.flatMap({ anchors[$0] }) else {
            throw .syntax(problem: "found undefined alias", event.position)
        }
        guard level + node.height - 1 <= YAMLParser.maximumLevels else { throw YAMLParser.tooDeep(event) }
        return node
    }

    private mutating func elements(level: Int) throws(YAMLError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        var size = 1
        while true {
            let event = try events.next()
            if case .sequenceEnd = event.kind { return elements }
            let element = try node(event, level: level + 1)
            size += element.size
            // Before the end of the list, because a list of aliases is quickly written.
            guard size < maximumNodes else { throw .tooManyValues }
            elements.append(element)
        }
    }

    private mutating func pairs(level: Int) throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        var pairs: [(key: YAMLNode, value: YAMLNode)] = []
        var size = 1
        while true {
            let event = try events.next()
            if case .mappingEnd = event.kind { break }
            let key = try node(event, level: level + 1)
            let value = try node(events.next(), level: level + 1)
            size += key.size + value.size
            guard size < maximumNodes else { throw .tooManyValues }
            pairs.append((key, value))
        }
        try YAMLParser.checkDuplicates(pairs.map(\.key))
        return pairs
    }

    /// Throws an error about the first of the names, in alphabetical order, that two keys have. Keys that are not text
    /// are left out, because the configuration's reader refuses each of them.
    private static func checkDuplicates(_ keys: [YAMLNode]) throws(YAMLError) {
        var first: [Key: YAMLPosition] = [:]
        var duplicate: (name: String, position: YAMLPosition)?
        for key in keys {
            guard let name = key.scalar else { continue }
            let identity = Key(name: name, tag: key.tag)
            guard let earlier = first[identity] else {
                first[identity] = key.position
                continue
            }
            if duplicate.map({ name < $0.name }) ?? true { duplicate = (name, earlier) }
        }
        if let duplicate { throw .duplicateKey(duplicate.name, duplicate.position) }
    }

    /// What makes two keys equal. `1` and `"1"` are different keys.
    private struct Key: Hashable {
        let name: String
        let tag: YAMLTag
    }

    private static func tooDeep(_ event: YAMLEvent) -> YAMLError {
        .syntax(problem: "nested in more than \(maximumLevels) levels", event.position)
    }
}
