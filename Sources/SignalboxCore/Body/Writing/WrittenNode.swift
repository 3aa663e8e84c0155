/// A JSON value in the making. Containers share their node, so whoever holds one adds to the same value.
final class WrittenNode {
    private enum Content {
        case nothing
        case literal(String)
        case string(String)
        case array([WrittenNode])
        case object([(name: String, node: WrittenNode)])
    }

    private var content = Content.nothing

    var count: Int {
        guard case .array(let elements) = content else { return 0 }
        return elements.count
    }

    func set(literal: String) { content = .literal(literal) }

    func set(string: String) { content = .string(string) }

    func makeArray() {
        guard case .array = content else { return content = .array([]) }
    }

    func makeObject() {
        guard case .object = content else { return content = .object([]) }
    }

    func appendElement() -> WrittenNode {
        var elements: [WrittenNode] = []
        if case .array(let present) = content { elements = present }
        content = .nothing
        let node = WrittenNode()
        elements.append(node)
        content = .array(elements)
        return node
    }

    func appendMember(_ name: String) -> WrittenNode {
        var members: [(name: String, node: WrittenNode)] = []
        if case .object(let present) = content { members = present }
        content = .nothing
        let node = WrittenNode()
        members.append((name, node))
        content = .object(members)
        return node
    }

    /// - Parameter depth: how many more arrays and objects may be opened; the recursion ends there.
    /// - Throws: `tooDeep`.
    func write(to text: inout JSONText, depth: Int) throws(BodyError) {
        switch content {
        case .nothing: text.append(literal: "{}")
        case .literal(let literal): text.append(literal: literal)
        case .string(let string): text.append(string: string)
        case .array(let elements):
            let depth = try WrittenNode.below(depth)
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                try element.write(to: &text, depth: depth)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            try WrittenNode.write(members, to: &text, depth: WrittenNode.below(depth))
        }
    }

    private static func below(_ depth: Int) throws(BodyError) -> Int {
        guard depth > 0 else { throw BodyError(.tooDeep, path: "reply", detail: "fewer levels expected") }
        return depth - 1
    }

    /// Of members with one name the last counts.
    private static func write(
        _ members: [(name: String, node: WrittenNode)],
        to text: inout JSONText,
        depth: Int
    ) throws(BodyError) {
        let order = members.indices.sorted { left, right in
            let (one, other) = (members[left].name.utf8, members[right].name.utf8)
            return one.elementsEqual(other) ? left < right : one.lexicographicallyPrecedes(other)
        }
        text.append(UInt8(ascii: "{"))
        var isFirst = true
        for (position, index) in order.enumerated() {
            let member = members[index]
            if position + 1 < order.count, members[order[position + 1]].name.utf8.elementsEqual(member.name.utf8) {
                continue
            }
            if !isFirst { text.append(UInt8(ascii: ",")) }
            isFirst = false
            text.append(string: member.name)
            text.append(UInt8(ascii: ":"))
            try member.node.write(to: &text, depth: depth)
        }
        text.append(UInt8(ascii: "}"))
    }
}
