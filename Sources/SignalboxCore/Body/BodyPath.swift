/// One component of a path through a body: a member's name or an element's index.
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
    /// The maximum number of members or elements that the search for a path skips. A type that tries several forms
    /// creates an error for each attempt, so without this limit the cost would be quadratic in the size of the message.
    private static let maximumSkipped = 1_000

    /// The path from the root to this value. Decoding does not track paths, so the path is found by walking the index.
    /// If this walk reaches the limit, the last component is `?`.
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
                guard passed < BodyView.maximumSkipped else { return unknown }
            }
        case .array where isFlat:
            return (BodyCodingKey(intValue: Int(target - position) - 1), target)
        case .array:
            for (index, element) in BodyElements(of: self).enumerated() {
                if contains(target, in: element) { return (BodyCodingKey(intValue: index), element) }
                passed += 1
                guard passed < BodyView.maximumSkipped else { return unknown }
            }
        default: break
        }
        return nil
    }

    private func member(_ key: UInt32) -> Step {
        (BodyCodingKey(stringValue: text(of: node(at: key))), key + 1)
    }

    /// Whether the array's elements contain no other values. If so, an element's index is the difference between two
    /// positions.
    private var isFlat: Bool { node.next - position - 1 == node.count }

    private func contains(_ target: UInt32, in value: UInt32) -> Bool {
        switch node(at: value).kind {
        case .object, .array: (value..<node(at: value).next).contains(target)
        default: value == target
        }
    }
}

/// Formats coding paths for errors.
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

    /// Returns the name if it is safe to show, or `?` otherwise. Some member names are chosen by the sender.
    static func shown(_ name: String) -> String {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
        return isName ? name : "?"
    }
}

extension BodyView {
    /// Returns an error located at this position, or at the member `key` of this value.
    @inline(never)
    func error(_ code: BodyError.Code, _ detail: String = "", key: (any CodingKey)? = nil) -> BodyError {
        var path = codingPath
        if let key { path.append(key) }
        return BodyError(code, path: BodyPath.text(path), offset: offset, detail: detail)
    }

    /// Returns a `typeMismatch` error, or a `valueMissing` error if the value is null.
    @inline(never)
    func mismatch(_ expected: String) -> BodyError {
        let found = node.kind
        guard found != .null else { return error(.valueMissing, "expected \(expected)") }
        return error(.typeMismatch, "expected \(expected), found \(found.words)")
    }

    /// The offset of the value's first byte in its message, or `nil` if the value is not part of the message.
    private var offset: Int? {
        // An empty value has no position, except a string, which always has its quotes.
        guard node.length > 0 || node.is(.string) else { return nil }
        let start = node.firstByte
        var (low, high) = (0, storage.records.count)
        while low < high {
            let middle = (low + high) / 2
            if storage.records[middle].originalStart <= UInt32(start) { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let record = storage.records[low - 1]
        let offset = start - Int(record.originalStart)
        return offset < Int(record.originalLength) ? offset : nil
    }
}

extension BodyNode.Kind {
    fileprivate var words: String {
        switch self {
        case .null: "null"
        case .false, .true: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .key: "a name"
        case .routeText: "text from the route"
        case .text: "a payload of text"
        case .bytes: "a payload of bytes"
        }
    }
}

extension BodyError {
    /// Converts an error thrown while decoding a type. The error's own message is omitted, because it may quote the
    /// body.
    static func from(_ error: any Error, in view: BodyView) -> BodyError {
        switch error {
        case let error as BodyError: error
        case DecodingError.keyNotFound(let key, let context):
            BodyError(.missingMember, path: BodyPath.text(context.codingPath + [key]))
        case DecodingError.valueNotFound(let type, let context):
            BodyError(.valueMissing, path: BodyPath.text(context.codingPath), detail: "expected \(type)")
        case DecodingError.typeMismatch(let type, let context):
            BodyError(.typeMismatch, path: BodyPath.text(context.codingPath), detail: "expected \(type)")
        case DecodingError.dataCorrupted(let context):
            BodyError(.invalidValue, path: BodyPath.text(context.codingPath))
        default:
            BodyError(.invalidValue, path: BodyPath.text(view.codingPath), detail: "threw \(type(of: error))")
        }
    }
}
