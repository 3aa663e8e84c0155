extension Body {
    /// The body as compact JSON, for records and logs: JSON with the same content and order, a route's captures among
    /// the members; text as a string; bytes as a string by base64 (RFC 4648 section 4).
    public var json: Bytes {
        var text = JSONText()
        BodyView(storage: storage, root: node, position: node).write(to: &text)
        return Bytes(text.bytes)
    }

    /// ``json`` as text.
    public var jsonText: String {
        String(decoding: json, as: UTF8.self)
    }
}

extension BodyView {
    /// Recurses as deep as the reader's depth limit let the message be.
    fileprivate func write(to text: inout JSONText) {
        let node = node
        switch node.kind {
        case .null: text.append(literal: "null")
        case .true: text.append(literal: "true")
        case .false: text.append(literal: "false")
        case .number: text.append(literal: literal(of: node))
        case .string, .key, .routeText, .text: text.append(string: self.text(of: node))
        case .bytes: text.append(base64: Bytes(storage: storage, start: node.start, length: node.length))
        case .array: writeElements(to: &text)
        case .object: writeMembers(to: &text)
        }
    }

    private func writeElements(to text: inout JSONText) {
        text.append(UInt8(ascii: "["))
        for (index, element) in BodyElements(of: self).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            at(element).write(to: &text)
        }
        text.append(UInt8(ascii: "]"))
    }

    private func writeMembers(to text: inout JSONText) {
        text.append(UInt8(ascii: "{"))
        for (index, key) in BodyMembers(of: self).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(string: self.text(of: node(at: key)))
            text.append(UInt8(ascii: ":"))
            at(key + 1).write(to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }
}
