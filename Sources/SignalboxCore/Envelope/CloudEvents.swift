extension EnvelopeReader {
    /// Parses a CloudEvents 1.0 event, storing its attributes separately and its data as the body.
    func readCloudEvent(
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        let root = try parseObject(&buffers)
        try checkVersion(buffers.member("specversion", of: root), in: buffers)
        let event = try CloudEventMembers(of: root, in: buffers, for: self)
        try readName(event.type, "type", from: &buffers, into: &record)
        guard let id = event.id else { throw BodyError(.missingMember, path: "id") }
        let range = try idRange(of: buffers.nodes[id], path: "id", in: &buffers)
        record.setID(range.lowerBound, length: range.count, key: .id)
        guard event.hasSource else { throw BodyError(.missingMember, path: "source") }
        record.body = UInt32(try body(of: event, in: &buffers))
        buffers.hide([event.data, event.dataBase64], of: root)
        record.metadata = UInt32(root)
    }

    /// Checks the event's version. This check comes first, because other versions have different rules.
    private func checkVersion(_ position: Int?, in buffers: borrowing BatchBuffers) throws(BodyError) {
        guard let node = position.map({ buffers.nodes[$0] }), !node.is(.null) else {
            throw BodyError(.missingMember, path: "specversion")
        }
        guard node.is(.string) else { throw mismatch(node, path: "specversion") }
        guard buffers.text(of: node) == "1.0" else {
            throw error(.invalidValue, at: node, path: "specversion", "expected version 1.0")
        }
    }

    /// Returns the body, as defined by the JSON event format, section 3.1.2.
    private func body(of event: CloudEventMembers, in buffers: inout BatchBuffers) throws(BodyError) -> Int {
        if let base64 = event.dataBase64, !buffers.nodes[base64].is(.null) {
            guard event.data == nil else {
                let detail = "expected data or data_base64, not both"
                throw error(.invalidValue, at: buffers.nodes[base64], path: "data_base64", detail)
            }
            return try bytes(at: base64, in: &buffers)
        }
        guard let data = event.data else { return buffers.push(emptyBody(.json)) }
        let node = buffers.nodes[data]
        guard !event.dataIsJSON, !node.is(.null) else { return data }
        guard node.is(.string) else {
            throw mismatch(node, path: "data", "a string, because datacontenttype is not JSON")
        }
        return buffers.push(.text, buffers.plainRange(of: node))
    }

    private func bytes(at position: Int, in buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let node = buffers.nodes[position]
        guard node.is(.string) else { throw mismatch(node, path: "data_base64") }
        let text = buffers.plainRange(of: node)
        guard let bytes = buffers.withBytes(in: text, Base64.decode) else {
            let detail = "expected base64 with padding (RFC 4648, section 4)"
            throw error(.invalidValue, at: node, path: "data_base64", detail)
        }
        let start = bytes.withUnsafeBytes { buffers.append($0) }
        return buffers.push(.bytes, start..<start + bytes.count)
    }
}

/// The positions of a CloudEvent's members in the index.
///
/// Attribute names and values are validated (specification, "Context Attributes" and "Type System"). A `null` attribute
/// is treated as absent.
struct CloudEventMembers {
    private(set) var type: Int?
    private(set) var id: Int?
    private(set) var data: Int?
    private(set) var dataBase64: Int?
    private(set) var hasSource = false
    /// Whether the event's data is JSON, as it is by default if the event has no content type.
    private(set) var dataIsJSON = true

    /// Scans the members of the object at `root` once.
    init(of root: Int, in buffers: borrowing BatchBuffers, for reader: EnvelopeReader) throws(BodyError) {
        let end = Int(buffers.nodes[root].next)
        var key = root + 1
        while key < end {
            let name = buffers.text(of: buffers.nodes[key])
            let value = key + 1
            switch name {
            case "data": data = value
            case "data_base64": dataBase64 = value
            default:
                let attribute = Attribute(name: name, node: buffers.nodes[value], reader: reader)
                try attribute.checkName(of: buffers.nodes[key])
                if !attribute.node.is(.null) { try take(attribute, at: value, in: buffers) }
            }
            key = Int(buffers.nodes[value].next)
        }
    }

    private mutating func take(
        _ attribute: Attribute,
        at value: Int,
        in buffers: borrowing BatchBuffers
    ) throws(BodyError) {
        switch attribute.name {
        case "type": type = value
        case "id":
            id = value
            _ = try attribute.text(in: buffers)
        case "source":
            hasSource = true
            _ = try attribute.text(in: buffers)
        case "specversion", "subject", "dataschema":
            _ = try attribute.text(in: buffers)
        case "time":
            guard TimestampText.isTimestamp(try attribute.text(in: buffers)) else {
                throw attribute.invalid("expected an RFC 3339 date and time")
            }
        case "datacontenttype":
            guard let media = MediaType(try attribute.text(in: buffers)) else {
                throw attribute.invalid("expected a media type such as application/json")
            }
            dataIsJSON = media.isJSON
        default:
            try attribute.checkExtension(in: buffers)
        }
    }
}

extension CloudEventMembers {
    /// An attribute of the event and its location.
    private struct Attribute {
        let name: String
        let node: BodyNode
        let reader: EnvelopeReader

        private var path: String { BodyPath.shown(name) }

        func checkName(of key: BodyNode) throws(BodyError) {
            let isName = name.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter && $0 & 0x20 != 0 }
            guard name.isEmpty || !isName else { return }
            throw reader.error(.invalidValue, at: key, path: path, "attribute names have only a-z and 0-9")
        }

        /// Returns the text of an attribute that must not be empty.
        func text(in buffers: borrowing BatchBuffers) throws(BodyError) -> String {
            let text = try string(in: buffers)
            guard !text.isEmpty else { throw invalid("expected a non-empty string") }
            return text
        }

        /// Checks that an extension attribute has an allowed JSON type: a boolean, a 32-bit integer, or text.
        func checkExtension(in buffers: borrowing BatchBuffers) throws(BodyError) {
            switch node.kind {
            case .true, .false: break
            case .number: try checkNumber(in: buffers)
            default: _ = try string(in: buffers)
            }
        }

        private func checkNumber(in buffers: borrowing BatchBuffers) throws(BodyError) {
            guard !node.has(BodyNode.fraction | BodyNode.exponent) else {
                throw error(.notAnInteger, "expected an integer without fraction or exponent")
            }
            let literal = buffers.withBytes(in: Int(node.start)..<node.end) { String(decoding: $0, as: UTF8.self) }
            guard Int32(literal) != nil else { throw error(.integerOutOfRange, "expected a 32-bit integer") }
        }

        private func string(in buffers: borrowing BatchBuffers) throws(BodyError) -> String {
            guard node.is(.string) else { throw error(.typeMismatch, "expected a string") }
            let text = buffers.text(of: node)
            guard text.unicodeScalars.allSatisfy(Attribute.isAllowed) else {
                throw invalid("expected text without control characters and noncharacters")
            }
            return text
        }

        private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0..<0x20, 0x7F...0x9F, 0xFDD0...0xFDEF: false
            default: scalar.value & 0xFFFE != 0xFFFE
            }
        }

        func invalid(_ detail: String) -> BodyError { error(.invalidValue, detail) }

        private func error(_ code: BodyError.Code, _ detail: String) -> BodyError {
            reader.error(code, at: node, path: path, detail)
        }
    }
}

/// A media type given in `datacontenttype` (RFC 2045 section 5.1), without its parameters.
struct MediaType {
    /// Whether the subtype is `json` or ends in `+json`. Letter case is ignored.
    let isJSON: Bool

    /// Parses a media type.
    ///
    /// - Returns: `nil` unless the text consists of two tokens separated by a slash, and optional parameters.
    init?(_ text: String) {
        let type = text.utf8.prefix { $0 != UInt8(ascii: ";") }
        guard let slash = type.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        var subtype = type[type.index(after: slash)...]
        while let last = subtype.last, last == 0x20 || last == 0x09 { subtype.removeLast() }
        guard MediaType.isToken(type[..<slash]), MediaType.isToken(subtype) else { return nil }
        let lower = subtype.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        isJSON = lower == Array("json".utf8) || lower.suffix(5) == Array("+json".utf8)[...]
    }

    private static func isToken(_ bytes: Substring.UTF8View) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    private static let separators = Set(#"()<>@,;:\"/[]?="#.utf8)
}

/// Validates RFC 3339 timestamps (section 5.6), such as `2018-04-05T17:31:00.5+02:00`.
enum TimestampText {
    /// Returns whether the text is a timestamp with a valid date and time.
    ///
    /// Second 60 is valid only in the last minute of a UTC day. This method does not check whether a leap second was
    /// announced for that day.
    static func isTimestamp(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
            let day = number(2, &rest), isDay(day, month, year), take("Tt", &rest), let hour = number(2, &rest),
            hour < 24, take(":", &rest), let minute = number(2, &rest), minute < 60, take(":", &rest),
            let second = number(2, &rest), second <= 60
        else { return false }
        if take(".", &rest) {
            let digits = rest.prefix(while: \.isASCIIDigit)
            guard !digits.isEmpty else { return false }
            rest = rest.dropFirst(digits.count)
        }
        guard let offset = offset(&rest), rest.isEmpty else { return false }
        let minutesOfDay = 24 * 60
        let minuteOfUTC = (hour * 60 + minute - offset + 2 * minutesOfDay) % minutesOfDay
        return second < 60 || minuteOfUTC == minutesOfDay - 1
    }

    /// Returns the offset in minutes east of UTC.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if take("Zz", &rest) { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+-", &rest), let hours = number(2, &rest), hours < 24, take(":", &rest),
            let minutes = number(2, &rest), minutes < 60
        else { return nil }
        return isWest ? -(hours * 60 + minutes) : hours * 60 + minutes
    }

    private static func isDay(_ day: Int, _ month: Int, _ year: Int) -> Bool {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...12).contains(month) && (1...lengths[month - 1]).contains(day)
    }

    private static func number(_ digits: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        let taken = rest.prefix(digits)
        guard taken.count == digits, taken.allSatisfy(\.isASCIIDigit) else { return nil }
        rest = rest.dropFirst(digits)
        return taken.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func take(_ one: StaticString, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first, one.withUTF8Buffer({ $0.contains(first) }) else { return false }
        rest = rest.dropFirst()
        return true
    }
}
