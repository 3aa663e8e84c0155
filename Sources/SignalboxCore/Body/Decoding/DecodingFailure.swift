extension BodyView {
    /// An error at this place, or at `key` below it.
    @inline(never)
    func error(_ code: BodyError.Code, _ detail: String = "", key: (any CodingKey)? = nil) -> BodyError {
        var path = codingPath
        if let key { path.append(key) }
        return BodyError(code, path: BodyPath.text(path), offset: offset, detail: detail)
    }

    /// An error because the value here is not what was asked for.
    @inline(never)
    func mismatch(_ expected: String) -> BodyError {
        let found = node.kind
        guard found != .null else { return error(.valueMissing, "\(expected) expected") }
        return error(.typeMismatch, "\(expected) expected, \(found.words) found")
    }

    /// The value's first byte counted from the message's, or `nil` when the value is not the message's.
    private var offset: Int? {
        // What is empty lies nowhere; only quotes can be around nothing.
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
        case .routeText: "text of the route"
        case .text: "a payload of text"
        case .bytes: "a payload of bytes"
        }
    }
}

extension BodyError {
    /// What decoding threw, as a body's error where the decoder is one of a ``Body``.
    package static func from(_ error: any Error, in decoder: any Decoder) -> BodyError {
        if let decoder = decoder as? BodyDecoder { return from(error, in: decoder.view) }
        return error as? BodyError ?? BodyError(.invalidValue, detail: "refused by \(type(of: error))")
    }

    /// What a type's own decoding threw, as a body's error. A message that the type composed is left out, as it may
    /// quote the body.
    static func from(_ error: any Error, in view: BodyView) -> BodyError {
        switch error {
        case let error as BodyError: error
        case DecodingError.keyNotFound(let key, let context):
            BodyError(.missingMember, path: BodyPath.text(context.codingPath + [key]))
        case DecodingError.valueNotFound(let type, let context):
            BodyError(.valueMissing, path: BodyPath.text(context.codingPath), detail: "\(type) expected")
        case DecodingError.typeMismatch(let type, let context):
            BodyError(.typeMismatch, path: BodyPath.text(context.codingPath), detail: "\(type) expected")
        case DecodingError.dataCorrupted(let context):
            BodyError(.invalidValue, path: BodyPath.text(context.codingPath))
        default:
            BodyError(.invalidValue, path: BodyPath.text(view.codingPath), detail: "refused by \(type(of: error))")
        }
    }
}
