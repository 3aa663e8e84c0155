/// What a route (a topic pattern, a URL pattern) says about a message.
///
/// Captures join the body: each is a member of the body's object, wins over a member of the same name that the sender
/// wrote, and converts from text by the rule for text of URLs and topics.
public struct RouteNaming: Sendable, Hashable {
    /// The action, or `nil` when the payload names it, by an envelope of its own: the standard one, or the chosen
    /// ``PayloadEnvelope``.
    public let action: ActionName?
    /// The id, or `nil` when the route does not say.
    public let id: ActionID?
    /// The named pieces of the topic or URL that are neither `action` nor `id`, in order.
    public let captures: [Capture]

    /// One named piece of a topic or URL.
    public struct Capture: Sendable, Hashable {
        /// The name in the pattern.
        public let name: String
        /// The text it stood for.
        public let value: String

        /// A capture as a pattern found it.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What a route found.
    public init(action: ActionName?, id: ActionID? = nil, captures: [Capture] = []) {
        self.action = action
        self.id = id
        self.captures = captures
    }
}

extension BatchBuffers {
    /// Puts a route's captures before the members of the body's object, where a search meets them first, and hides
    /// members of the same name. A null body becomes an object; a body that is neither stays as it is.
    ///
    /// - Returns: the position of the new body.
    mutating func join(_ captures: [RouteNaming.Capture], toBodyAt body: Int) -> Int {
        let original = nodes[body]
        guard original.kind == .object || original.kind == .null else { return body }
        let isObject = original.kind == .object
        let joined = push(original)
        let count = pushMembers(captures)
        let ownEnd = nodeCount
        if isObject {
            let hidden = hideMembers(of: body, namedIn: joined + 1..<ownEnd)
            let visible = visibleCount(of: body, hidden: hidden)
            update(ownEnd - 1) { $0.next = UInt32(body + 1) }
            update(joined) { $0.bits = BodyNode.container(.object, count: UInt32(visible + count)) }
        } else {
            update(joined) {
                $0.next = UInt32(ownEnd)
                $0.bits = BodyNode.container(.object, count: UInt32(count))
            }
        }
        return joined
    }

    /// - Returns: how many members were pushed; of two captures with one name the first counts.
    private mutating func pushMembers(_ captures: [RouteNaming.Capture]) -> Int {
        var count = 0
        for (index, capture) in captures.enumerated() {
            guard !captures[..<index].contains(where: { $0.name == capture.name }) else { continue }
            push(capture.name, kind: .key)
            push(capture.value, kind: .routeText)
            count += 1
        }
        return count
    }

    private mutating func push(_ text: String, kind: BodyNode.Kind) {
        let range = append(text)
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let bits = isASCII ? kind.bits : kind.bits | BodyNode.beyondASCII
        _ = push(BodyNode(start: range.lowerBound, length: range.count, next: nodeCount + 1, bits: bits))
    }

    /// - Returns: how many were hidden.
    private mutating func hideMembers(of object: Int, namedIn captures: Range<Int>) -> Int {
        let names = stride(from: captures.lowerBound, to: captures.upperBound, by: 2).map { key in
            (node: nodes[key], text: text(of: nodes[key]))
        }
        let end = Int(nodes[object].next)
        var hidden = 0
        var key = object + 1
        while key < end {
            if !nodes[key].has(BodyNode.hidden), isName(nodes[key], among: names) {
                update(key) { $0.bits |= BodyNode.hidden }
                hidden += 1
            }
            key = Int(nodes[key + 1].next)
        }
        return hidden
    }

    /// A name is decoded at most once, and not at all where no capture's is as long.
    private func isName(_ key: BodyNode, among names: [(node: BodyNode, text: String)]) -> Bool {
        var decoded: String?
        for name in names {
            let isPlain = (key.bits | name.node.bits) & (BodyNode.escaped | BodyNode.beyondASCII) == 0
            if isPlain, key.length != name.node.length { continue }
            let text = decoded ?? text(of: key)
            if text == name.text { return true }
            decoded = text
        }
        return false
    }

    private func visibleCount(of object: Int, hidden: Int) -> Int {
        let node = nodes[object]
        guard node.count == BodyNode.countLimit else { return Int(node.count) - hidden }
        return Int(BodyNode.countLimit)
    }
}
