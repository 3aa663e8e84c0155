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
        /// The matched text. If there are several, this is the first one.
        public let value: String
        /// The texts after ``value``, if the message repeats the item.
        public let moreValues: [String]
        /// Whether the member of the body is a list of ``value`` and ``moreValues``, because the message repeats the item.
        ///
        /// A list can have one text: the other values of the item cannot be read, and a plugin that expects one value
        /// must not take the readable one for the whole.
        public let isList: Bool

        /// Creates a capture of one text.
        public init(name: String, value: String) {
            self.init(name: name, value: value, moreValues: [])
        }

        /// Creates a capture of one or more texts.
        ///
        /// - Parameters:
        ///   - name: The capture's name in the pattern.
        ///   - value: The first matched text.
        ///   - moreValues: Further texts of the same name, which contain no U+0000.
        public init(name: String, value: String, moreValues: [String]) {
            self.init(name: name, value: value, moreValues: moreValues, isList: !moreValues.isEmpty)
        }

        /// Creates a capture of the readable texts of an item.
        ///
        /// - Parameters:
        ///   - name: The capture's name in the pattern.
        ///   - value: The first readable text.
        ///   - moreValues: Further readable texts of the same name, which contain no U+0000.
        ///   - isList: Whether the message repeats the item, even if only one of its texts can be read.
        public init(name: String, value: String, moreValues: [String] = [], isList: Bool) {
            self.name = name
            self.value = value
            self.moreValues = moreValues
            self.isList = isList || !moreValues.isEmpty
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
        let keys = pushMembers(captures)
        let ownEnd = nodeCount
        if isObject {
            hideMembers(of: body, namedAt: keys)
            let visible = nodes[body].count
            if let last = keys.last { update(last + 1) { $0.next = UInt32(body + 1) } }
            update(joined) { $0.bits = BodyNode.container(.object, count: visible + UInt32(keys.count)) }
        } else {
            update(joined) {
                $0.next = UInt32(ownEnd)
                $0.bits = BodyNode.container(.object, count: UInt32(keys.count))
            }
        }
        return joined
    }

    /// Pushes the captures as members. If several captures have the same name, the first one wins.
    ///
    /// - Returns: The positions of the keys pushed.
    private mutating func pushMembers(_ captures: [RouteNaming.Capture]) -> [Int] {
        var keys: [Int] = []
        for (index, capture) in captures.enumerated() {
            guard !captures[..<index].contains(where: { $0.name == capture.name }) else { continue }
            keys.append(nodeCount)
            push(capture.name, kind: .key)
            if capture.isList {
                pushList([capture.value] + capture.moreValues)
            } else {
                push(capture.value, kind: .routeText)
            }
        }
        return keys
    }

    /// Pushes a list of texts. Its bytes are the texts, each with a U+0000 after it, so that a hash of the bytes tells
    /// different lists apart.
    private mutating func pushList(_ texts: [String]) {
        let list = push(.array, 0..<0)
        var end = 0
        for (index, text) in texts.enumerated() {
            push(text, kind: .routeText)
            end = append("\0").upperBound
            if index == 0 { update(list) { $0.start = UInt32(end - 1 - text.utf8.count) } }
        }
        let next = UInt32(nodeCount)
        update(list) {
            $0.length = UInt32(end) - $0.start
            $0.next = next
            $0.bits = BodyNode.container(.array, count: UInt32(texts.count))
        }
    }

    private mutating func push(_ text: String, kind: BodyNode.Kind) {
        let range = append(text)
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        _ = push(kind, range, flags: isASCII ? 0 : BodyNode.beyondASCII)
    }

    private mutating func hideMembers(of object: Int, namedAt keys: [Int]) {
        let names = keys.map { (node: nodes[$0], text: text(of: nodes[$0])) }
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
