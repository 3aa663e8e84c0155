extension EnvelopeReader {
    /// Reads a payload of APNs: `aps` is set apart, and what is left besides the action's name and id is the body.
    ///
    /// - Parameter limit: the most bytes it may have.
    func readAPNs(
        limit: Int,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        guard buffers.bytes.count - start <= limit else {
            throw BodyError(.tooLarge, detail: "at most \(limit) bytes expected of a payload of APNs")
        }
        let root = try parseObject(&buffers)
        let members = EnvelopeMembers(of: root, in: buffers)
        guard let aps = buffers.member("aps", of: root) else { throw BodyError(.missingMember, path: "aps") }
        guard buffers.nodes[aps].is(.object) else {
            throw mismatch(buffers.nodes[aps], path: "aps", "an object")
        }
        try readName(members.action, "action", from: &buffers, into: &record)
        try readID(members, from: &buffers, into: &record)
        buffers.hide([members.action, members.id, members.uuid, aps], of: root)
        record.body = UInt32(root)
        record.aside = UInt32(aps)
    }
}

extension BatchBuffers {
    /// The position of the value of an object's member, or `nil` when it has none of this name.
    func member(_ name: String, of object: Int) -> Int? {
        let end = Int(nodes[object].next)
        var key = object + 1
        while key < end {
            if text(of: nodes[key]) == name { return key + 1 }
            key = Int(nodes[key + 1].next)
        }
        return nil
    }

    /// Hides members of an object, given by the positions of their values.
    mutating func hide(_ values: [Int?], of object: Int) {
        var count = nodes[object].count
        for case let value? in values {
            update(value - 1) { $0.bits |= BodyNode.hidden }
            if count < BodyNode.countLimit { count -= 1 }
        }
        update(object) { $0.bits = BodyNode.container(.object, count: count) }
    }
}
