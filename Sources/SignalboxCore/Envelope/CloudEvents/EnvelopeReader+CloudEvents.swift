extension EnvelopeReader {
    /// Reads an event of CloudEvents 1.0: its attributes are set apart, and its data is the body.
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
        record.aside = UInt32(root)
    }

    /// Before all else, as another version has other rules.
    private func checkVersion(_ position: Int?, in buffers: borrowing BatchBuffers) throws(BodyError) {
        guard let node = position.map({ buffers.nodes[$0] }), !node.is(.null) else {
            throw BodyError(.missingMember, path: "specversion")
        }
        guard node.is(.string) else { throw mismatch(node, path: "specversion") }
        guard buffers.text(of: node) == "1.0" else {
            let offset = offset(of: node)
            throw BodyError(.invalidValue, path: "specversion", offset: offset, detail: "version 1.0 expected")
        }
    }

    /// JSON event format, section 3.1.2.
    private func body(of event: CloudEventMembers, in buffers: inout BatchBuffers) throws(BodyError) -> Int {
        if let base64 = event.dataBase64, !buffers.nodes[base64].is(.null) {
            guard event.data == nil else {
                let offset = offset(of: buffers.nodes[base64])
                let detail = "data or data_base64 expected, not both"
                throw BodyError(.invalidValue, path: "data_base64", offset: offset, detail: detail)
            }
            return try bytes(at: base64, in: &buffers)
        }
        guard let data = event.data else { return buffers.push(emptyBody(.json)) }
        let node = buffers.nodes[data]
        guard !event.dataIsJSON, !node.is(.null) else { return data }
        guard node.is(.string) else {
            throw mismatch(node, path: "data", "a string, as datacontenttype is not JSON,")
        }
        return push(.text, buffers.plainRange(of: node), in: &buffers)
    }

    private func bytes(at position: Int, in buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let node = buffers.nodes[position]
        guard node.is(.string) else { throw mismatch(node, path: "data_base64") }
        let text = buffers.plainRange(of: node)
        guard let bytes = buffers.withBytes(in: text, Base64Text.decode) else {
            let offset = offset(of: node)
            let detail = "base64 of RFC 4648 section 4, with its padding, expected"
            throw BodyError(.invalidValue, path: "data_base64", offset: offset, detail: detail)
        }
        let start = bytes.withUnsafeBytes { buffers.append($0) }
        return push(.bytes, start..<start + bytes.count, in: &buffers)
    }

    private func push(_ kind: BodyNode.Kind, _ range: Range<Int>, in buffers: inout BatchBuffers) -> Int {
        let next = buffers.nodeCount + 1
        return buffers.push(BodyNode(start: range.lowerBound, length: range.count, next: next, bits: kind.bits))
    }
}
