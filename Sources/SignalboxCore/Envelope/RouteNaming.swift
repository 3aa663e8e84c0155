/// The result of matching a message against a route, which is a topic pattern or a URL pattern.
///
/// Captures become members of the body object. If the sender supplied a member with the same name, the capture replaces
/// it. When the body is decoded, a capture's text is converted to the requested type.
public struct RouteNaming: Sendable, Hashable {
    /// The action, or `nil` if the payload names the action, either in the standard envelope or in the chosen
    /// ``PayloadEnvelope``.
    public let action: ActionName?
    /// The id, or `nil` if the route contains none.
    public let id: ActionID?
    /// The topic's or URL's captures in order, except `action` and `id`.
    public let captures: [Capture]

    /// A named part of a topic or URL.
    public struct Capture: Sendable, Hashable {
        /// The capture's name in the pattern.
        public let name: String
        /// The matched text.
        public let value: String

        /// Creates a capture.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates the result of a match.
    public init(action: ActionName?, id: ActionID? = nil, captures: [Capture] = []) {
        self.action = action
        self.id = id
        self.captures = captures
    }
}

extension BatchBuffers {
    /// Adds a route's captures to a body.
    ///
    /// The captures are inserted before the object's members, where a search finds them first, and members with the
    /// same names are hidden. A null body becomes an object; a body of any other kind is unchanged.
    ///
    /// - Returns: The position of the new body.
    mutating func join(_ captures: [RouteNaming.Capture], toBodyAt body: Int) -> Int {
        let original = nodes[body]
        guard original.kind == .object || original.kind == .null else { return body }
        let isObject = original.kind == .object
        let joined = push(original)
        let count = pushMembers(captures)
        let ownEnd = nodeCount
        if isObject {
            hideMembers(of: body, namedIn: joined + 1..<ownEnd)
            let visible = nodes[body].count
            update(ownEnd - 1) { $0.next = UInt32(body + 1) }
            update(joined) { $0.bits = BodyNode.container(.object, count: visible + UInt32(count)) }
        } else {
            update(joined) {
                $0.next = UInt32(ownEnd)
                $0.bits = BodyNode.container(.object, count: UInt32(count))
            }
        }
        return joined
    }

    /// Pushes the captures as members. If several captures have the same name, the first one wins.
    ///
    /// - Returns: The number of members pushed.
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
        _ = push(kind, range, flags: isASCII ? 0 : BodyNode.beyondASCII)
    }

    private mutating func hideMembers(of object: Int, namedIn captures: Range<Int>) {
        let names = stride(from: captures.lowerBound, to: captures.upperBound, by: 2).map { key in
            (node: nodes[key], text: text(of: nodes[key]))
        }
        let end = Int(nodes[object].next)
        var key = object + 1
        while key < end {
            if !nodes[key].has(BodyNode.hidden), isName(nodes[key], among: names) { hide([key + 1], of: object) }
            key = Int(nodes[key + 1].next)
        }
    }

    /// Returns whether a key has one of the names. The key is decoded at most once, and only if its length could match
    /// one of the names.
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
}
