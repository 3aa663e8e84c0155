extension EnvelopeReader {
    func readName(
        _ position: Int?,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        guard let position else { throw BodyError(.missingMember, path: "action") }
        let node = buffers.nodes[position]
        guard node.is(.string) else { throw mismatch(node, path: "action") }
        let range = buffers.plainRange(of: node)
        if let problem = buffers.withBytes(in: range, ActionName.problem(in:)) {
            throw BodyError(.invalidValue, path: "action", offset: offset(of: node), detail: problem.description)
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
        guard node.is(.string) else { throw mismatch(node, path: path) }
        let range = buffers.plainRange(of: node)
        guard (1...ActionID.maximumLength).contains(range.count) else {
            let detail = "1 to \(ActionID.maximumLength) bytes expected"
            throw BodyError(.invalidValue, path: path, offset: offset(of: node), detail: detail)
        }
        record.setID(range.lowerBound, length: range.count, key: id == nil ? .uuid : .id)
    }

    private func mismatch(_ node: BodyNode, path: String) -> BodyError {
        BodyError(.typeMismatch, path: path, offset: offset(of: node), detail: "a string expected")
    }
}
