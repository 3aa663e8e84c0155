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
    /// How many members may be passed over on the way to a place. A type that tries one form after the other makes an
    /// error per try: walks without a bound would cost the square of the message's size.
    private static let mostPassed = 1_000

    /// The steps from the root to this place, found by walking the index: decoding keeps no path. The last step is `?`
    /// when the place is too far away.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var current = at(root)
        var passed = 0
        while current.position != position, let (key, child) = current.step(towards: position, passed: &passed) {
            path.append(key)
            current = at(child)
        }
        return path
    }

    private typealias Step = (key: BodyCodingKey, child: UInt32)

    private func step(towards target: UInt32, passed: inout Int) -> Step? {
        let unknown = (BodyCodingKey(stringValue: "?"), target)
        switch node.kind {
        case .object:
            for key in BodyMembers(of: self) {
                if contains(target, in: key + 1) { return member(key) }
                passed += 1
                guard passed < BodyView.mostPassed else { return unknown }
            }
        case .array where isFlat:
            return (BodyCodingKey(intValue: Int(target - position) - 1), target)
        case .array:
            for (index, element) in BodyElements(of: self).enumerated() {
                if contains(target, in: element) { return (BodyCodingKey(intValue: index), element) }
                passed += 1
                guard passed < BodyView.mostPassed else { return unknown }
            }
        default: break
        }
        return nil
    }

    private func member(_ key: UInt32) -> Step {
        (BodyCodingKey(stringValue: text(of: node(at: key))), key + 1)
    }

    /// Of an array: no element contains another, so that an index is a difference of positions.
    private var isFlat: Bool { node.next - position - 1 == node.count }

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
    static func shown(_ name: String) -> String {
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
