/// One step of a path through a body: a member's name or an element's index.
struct BodyCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }
}

extension BodyView {
    /// The steps from the root to this place, found by walking the index: decoding keeps no path.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var current = at(root)
        while current.position != position, let (key, child) = current.step(towards: position) {
            path.append(key)
            current = at(child)
        }
        return path
    }

    private func step(towards target: UInt32) -> (key: BodyCodingKey, child: UInt32)? {
        switch node.kind {
        case .object:
            for key in BodyMembers(of: self) where contains(target, in: key + 1) {
                return (BodyCodingKey(stringValue: text(of: node(at: key))), key + 1)
            }
        case .array:
            for (index, element) in BodyElements(of: self).enumerated() where contains(target, in: element) {
                return (BodyCodingKey(intValue: index), element)
            }
        default: break
        }
        return nil
    }

    private func contains(_ target: UInt32, in value: UInt32) -> Bool {
        switch node(at: value).kind {
        case .object, .array: (value..<node(at: value).next).contains(target)
        default: value == target
        }
    }
}

/// A path as errors show it.
enum BodyPath {
    static func text(_ path: [any CodingKey], root: String = "body") -> String {
        path.reduce(into: root) { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += ".\(shown(key.stringValue))"
            }
        }
    }

    /// A name is shown when it cannot be anything but a name: senders choose the names of some members.
    private static func shown(_ name: String) -> String {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        return isName ? name : "?"
    }
}
