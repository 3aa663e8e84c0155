/// Makes name, id and body of an arrival out of a message's bytes, by its envelope.
struct EnvelopeReader {
    /// Where the message begins; it ends where the bytes end.
    let start: Int
    let depth: Int

    /// Reads the message that was appended last.
    ///
    /// - Throws: what is wrong with it, offsets counted from the message's first byte.
    @inline(__always)
    func read(
        _ envelope: Envelope,
        _ payload: PayloadKind,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        switch envelope.form {
        case .standard:
            try readStandard(from: &buffers, into: &record)
        case .route(let naming, let envelope):
            try read(naming, envelope, payload, from: &buffers, into: &record)
        case .handler(let name):
            try read(postedTo: name, from: &buffers, into: &record)
        case .address(let action, let naming):
            record.body = UInt32(buffers.join(naming.captures, toBodyAt: buffers.push(emptyBody(.json))))
            name(action, in: &buffers, into: &record)
            identify(naming, in: &buffers, into: &record)
        case .apns(let limit):
            try readAPNs(limit: limit, from: &buffers, into: &record)
        case .cloudEvents:
            try readCloudEvent(from: &buffers, into: &record)
        }
    }

    private func readStandard(
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        let root = try parseObject(&buffers)
        try read(EnvelopeMembers(of: root, in: buffers), from: &buffers, into: &record)
    }

    private func read(
        postedTo handler: ActionName,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        let root = try readPayload(.json, from: &buffers)
        if buffers.nodes[root].is(.object) {
            let members = EnvelopeMembers(of: root, in: buffers)
            if members.action != nil {
                record.envelope = .standard
                return try read(members, from: &buffers, into: &record)
            }
        }
        record.body = UInt32(root)
        name(handler, in: &buffers, into: &record)
    }

    private func read(
        _ members: EnvelopeMembers,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        try readName(members.action, "action", from: &buffers, into: &record)
        try readID(members, from: &buffers, into: &record)
        record.body = UInt32(members.body ?? buffers.push(emptyBody(.json)))
    }

    private func read(
        _ naming: RouteNaming,
        _ envelope: PayloadEnvelope,
        _ payload: PayloadKind,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        if let action = naming.action {
            record.body = UInt32(try readPayload(payload, from: &buffers))
            name(action, in: &buffers, into: &record)
        } else {
            switch envelope.form {
            case .standard: try readStandard(from: &buffers, into: &record)
            case .apns: try readAPNs(limit: Envelope.apnsLimit, from: &buffers, into: &record)
            case .cloudEvents: try readCloudEvent(from: &buffers, into: &record)
            }
        }
        join(naming, in: &buffers, into: &record)
    }

    private func name(_ action: ActionName, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        record.setName(action.bytes.withUnsafeBytes { buffers.append($0) }, length: action.bytes.count)
    }

    /// Adds what the route says beside the action: the id, and the captures.
    private func join(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        identify(naming, in: &buffers, into: &record)
        guard !naming.captures.isEmpty else { return }
        record.body = UInt32(buffers.join(naming.captures, toBodyAt: Int(record.body)))
    }

    private func identify(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        guard let id = naming.id else { return }
        record.setID(id.bytes.withUnsafeBytes { buffers.append($0) }, length: id.bytes.count, key: .id)
    }

    /// - Returns: the position of the body's node.
    private func readPayload(_ payload: PayloadKind, from buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let length = buffers.bytes.count - start
        guard length > 0 else { return buffers.push(emptyBody(payload)) }
        switch payload {
        case .json:
            return try parse(&buffers)
        case .text:
            try checkText(buffers)
            return buffers.push(whole(.text, length: length, in: buffers))
        case .bytes:
            return buffers.push(whole(.bytes, length: length, in: buffers))
        }
    }

    private func whole(_ kind: BodyNode.Kind, length: Int, in buffers: borrowing BatchBuffers) -> BodyNode {
        BodyNode(start: start, length: length, next: buffers.nodeCount + 1, bits: kind.bits)
    }

    func emptyBody(_ payload: PayloadKind) -> BodyNode {
        let flag: UInt32 =
            switch payload {
            case .json: 0
            case .text: BodyNode.emptyText
            case .bytes: BodyNode.emptyBytes
            }
        return BodyNode(start: start, length: 0, next: 0, bits: BodyNode.Kind.null.bits | flag)
    }

    /// - Returns: the position of the message's root, which is an object.
    func parseObject(_ buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let root = try parse(&buffers)
        guard buffers.nodes[root].is(.object) else {
            throw BodyError(.typeMismatch, offset: offset(of: buffers.nodes[root]), detail: "an object expected")
        }
        return root
    }

    private func parse(_ buffers: inout BatchBuffers) throws(BodyError) -> Int {
        do {
            return try buffers.parse(from: start, depth: depth)
        } catch {
            throw BodyError(error.code, offset: error.position - start)
        }
    }

    private func checkText(_ buffers: borrowing BatchBuffers) throws(BodyError) {
        do {
            try buffers.checkText(from: start)
        } catch {
            throw BodyError(error.code, offset: error.position - start)
        }
    }

    func offset(of node: BodyNode) -> Int { node.firstByte - start }
}
