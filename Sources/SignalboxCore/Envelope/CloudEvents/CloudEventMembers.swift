/// Where in the index the members of a CloudEvent are, its attributes' names and values checked (specification,
/// "Context Attributes" and "Type System"). An attribute that is `null` counts as absent.
struct CloudEventMembers {
    private(set) var type: Int?
    private(set) var id: Int?
    private(set) var data: Int?
    private(set) var dataBase64: Int?
    private(set) var hasSource = false
    /// Without a content type data is JSON.
    private(set) var dataIsJSON = true

    /// Looks through the members of the object at `root` once.
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
                let place = Place(name: name, node: buffers.nodes[value], reader: reader)
                try place.checkName(of: buffers.nodes[key])
                if !place.node.is(.null) { try take(place, at: value, in: buffers) }
            }
            key = Int(buffers.nodes[value].next)
        }
    }

    private mutating func take(
        _ place: Place,
        at value: Int,
        in buffers: borrowing BatchBuffers
    ) throws(BodyError) {
        switch place.name {
        case "type": type = value
        case "id":
            id = value
            _ = try place.text(in: buffers)
        case "source":
            hasSource = true
            _ = try place.text(in: buffers)
        case "specversion", "subject", "dataschema":
            _ = try place.text(in: buffers)
        case "time":
            guard TimestampText.isTimestamp(try place.text(in: buffers)) else {
                throw place.invalid("a date and time of RFC 3339 expected")
            }
        case "datacontenttype":
            guard let media = MediaType(try place.text(in: buffers)) else {
                throw place.invalid("a media type such as application/json expected")
            }
            dataIsJSON = media.isJSON
        default:
            try place.checkExtension(in: buffers)
        }
    }
}

extension CloudEventMembers {
    /// One attribute.
    private struct Place {
        let name: String
        let node: BodyNode
        let reader: EnvelopeReader

        private var path: String { BodyPath.shown(name) }

        func checkName(of key: BodyNode) throws(BodyError) {
            let isName =
                !name.isEmpty
                && name.utf8.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                }
            guard !isName else { return }
            let offset = reader.offset(of: key)
            throw BodyError(.invalidValue, path: path, offset: offset, detail: "names of attributes are a-z and 0-9")
        }

        /// The text of an attribute that may not be empty.
        func text(in buffers: borrowing BatchBuffers) throws(BodyError) -> String {
            let text = try string(in: buffers)
            guard !text.isEmpty else { throw invalid("a text that is not empty expected") }
            return text
        }

        /// A boolean, an integer of 32 bits, or text: what the type system lets an attribute be in JSON.
        func checkExtension(in buffers: borrowing BatchBuffers) throws(BodyError) {
            switch node.kind {
            case .true, .false: break
            case .number: try checkNumber(in: buffers)
            default: _ = try string(in: buffers)
            }
        }

        private func checkNumber(in buffers: borrowing BatchBuffers) throws(BodyError) {
            guard !node.has(BodyNode.fraction | BodyNode.exponent) else {
                throw error(.notAnInteger, "an integer expected, without fraction and exponent")
            }
            let literal = buffers.withBytes(in: Int(node.start)..<node.end) { String(decoding: $0, as: UTF8.self) }
            guard Int32(literal) != nil else { throw error(.integerOutOfRange, "an integer of 32 bits expected") }
        }

        private func string(in buffers: borrowing BatchBuffers) throws(BodyError) -> String {
            guard node.is(.string) else { throw error(.typeMismatch, "a string expected") }
            let text = buffers.text(of: node)
            guard text.unicodeScalars.allSatisfy(Place.isAllowed) else {
                throw invalid("text without control characters and noncharacters expected")
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
            BodyError(code, path: path, offset: reader.offset(of: node), detail: detail)
        }
    }
}
