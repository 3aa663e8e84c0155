extension EnvelopeReader {
    /// - Parameter member: what the action is called by in this envelope.
    func readName(
        _ position: Int?,
        _ member: String,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        guard let position else { throw BodyError(.missingMember, path: member) }
        let node = buffers.nodes[position]
        guard node.is(.string) else { throw mismatch(node, path: member) }
        let range = buffers.plainRange(of: node)
        if let problem = buffers.withBytes(in: range, ActionName.problem(in:)) {
            throw BodyError(.invalidValue, path: member, offset: offset(of: node), detail: problem.description)
        }
        record.setName(range.lowerBound, length: range.count)
    }

    func readID(
        _ members: EnvelopeMembers,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        let id = members.id.flatMap { buffers.nodes[$0].is(.null) ? nil : $0 }
        let uuid = members.uuid.flatMap { buffers.nodes[$0].is(.null) ? nil : $0 }
        guard let position = id ?? uuid else { return }
        let path = id == nil ? "uuid" : "id"
        let node = buffers.nodes[position]
        guard id == nil || uuid == nil else {
            throw BodyError(
                .invalidValue,
                path: path,
                offset: offset(of: node),
                detail: "id or uuid expected, not both"
            )
        }
        let range = try idRange(of: node, path: path, in: &buffers)
        record.setID(range.lowerBound, length: range.count, key: id == nil ? .uuid : .id)
    }

    /// Where the text of an id lies.
    func idRange(of node: BodyNode, path: String, in buffers: inout BatchBuffers) throws(BodyError) -> Range<Int> {
        guard node.is(.string) else { throw mismatch(node, path: path) }
        let range = buffers.plainRange(of: node)
        guard (1...ActionID.maximumLength).contains(range.count) else {
            let detail = "1 to \(ActionID.maximumLength) bytes expected"
            throw BodyError(.invalidValue, path: path, offset: offset(of: node), detail: detail)
        }
        return range
    }

    func mismatch(_ node: BodyNode, path: String, _ expected: String = "a string") -> BodyError {
        BodyError(.typeMismatch, path: path, offset: offset(of: node), detail: "\(expected) expected")
    }
}
