/// Extracts an arrival's name, id and body from a message's bytes according to its envelope.
struct EnvelopeReader {
    /// The start of the message, which extends to the end of the bytes.
    let start: Int
    let depth: Int

    /// Parses the message that was appended last.
    ///
    /// - Throws: ``BodyError`` with an offset from the message's first byte.
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
        case .apns:
            try readAPNs(from: &buffers, into: &record)
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
            case .apns: try readAPNs(from: &buffers, into: &record)
            case .cloudEvents: try readCloudEvent(from: &buffers, into: &record)
            }
        }
        join(naming, in: &buffers, into: &record)
    }

    private func name(_ action: ActionName, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        record.setName(action.bytes.withUnsafeBytes { buffers.append($0) }, length: action.bytes.count)
    }

    /// Adds the route's id and captures.
    private func join(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        identify(naming, in: &buffers, into: &record)
        guard !naming.captures.isEmpty else { return }
        record.body = UInt32(buffers.join(naming.captures, toBodyAt: Int(record.body)))
    }

    private func identify(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        guard let id = naming.id else { return }
        record.setID(id.bytes.withUnsafeBytes { buffers.append($0) }, length: id.bytes.count, key: .id)
    }

    /// - Returns: The position of the body's node.
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

    /// - Returns: The position of the message's root, which is an object.
    func parseObject(_ buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let root = try parse(&buffers)
        guard buffers.nodes[root].is(.object) else {
            throw BodyError(.typeMismatch, offset: offset(of: buffers.nodes[root]), detail: "expected an object")
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

extension EnvelopeReader {
    /// - Parameter member: The member that contains the action's name in this envelope.
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
                detail: "expected id or uuid, not both"
            )
        }
        let range = try idRange(of: node, path: path, in: &buffers)
        record.setID(range.lowerBound, length: range.count, key: id == nil ? .uuid : .id)
    }

    /// Returns the range of an id's text.
    func idRange(of node: BodyNode, path: String, in buffers: inout BatchBuffers) throws(BodyError) -> Range<Int> {
        guard node.is(.string) else { throw mismatch(node, path: path) }
        let range = buffers.plainRange(of: node)
        guard (1...ActionID.maximumLength).contains(range.count) else {
            let detail = "expected 1 to \(ActionID.maximumLength) bytes"
            throw BodyError(.invalidValue, path: path, offset: offset(of: node), detail: detail)
        }
        return range
    }

    func mismatch(_ node: BodyNode, path: String, _ expected: String = "a string") -> BodyError {
        BodyError(.typeMismatch, path: path, offset: offset(of: node), detail: "expected \(expected)")
    }
}

/// The positions of a standard envelope's members in the index, or `nil` for absent members.
struct EnvelopeMembers {
    var action: Int?
    var id: Int?
    var uuid: Int?
    var body: Int?

    /// Scans the members of the object at `root` once. Unknown names are skipped.
    init(of root: Int, in buffers: borrowing BatchBuffers) {
        let end = Int(buffers.nodes[root].next)
        var key = root + 1
        while key < end {
            switch EnvelopeMembers.member(named: buffers.nodes[key], in: buffers) {
            case .action: action = key + 1
            case .id: id = key + 1
            case .uuid: uuid = key + 1
            case .body: body = key + 1
            case nil: break
            }
            key = Int(buffers.nodes[key + 1].next)
        }
    }

    private enum Member: String {
        case action, id, uuid, body
    }

    private static func member(named key: BodyNode, in buffers: borrowing BatchBuffers) -> Member? {
        guard key.bits == BodyNode.Kind.key.bits else {
            return Member(rawValue: buffers.text(of: key))
        }
        switch key.length {
        case 6: return buffers.word(at: key) & 0xFFFF_FFFF_FFFF == 0x6E6F_6974_6361 ? .action : nil
        case 2: return buffers.word(at: key) & 0xFFFF == 0x6469 ? .id : nil
        case 4:
            switch buffers.word(at: key) & 0xFFFF_FFFF {
            case 0x6469_7575: return .uuid
            case 0x7964_6F62: return .body
            default: return nil
            }
        default: return nil
        }
    }
}

extension EnvelopeReader {
    /// Parses an APNs payload. Stores `aps` separately; the body is all members but it, the name and the id.
    func readAPNs(
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        guard buffers.bytes.count - start <= Envelope.apnsLimit else {
            throw BodyError(.tooLarge, detail: "expected an APNs payload of at most \(Envelope.apnsLimit) bytes")
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
        record.metadata = UInt32(aps)
    }
}

extension BatchBuffers {
    /// Returns the position of a member's value, or `nil` if the object has no such member.
    func member(_ name: String, of object: Int) -> Int? {
        let end = Int(nodes[object].next)
        var key = object + 1
        while key < end {
            if text(of: nodes[key]) == name { return key + 1 }
            key = Int(nodes[key + 1].next)
        }
        return nil
    }

    /// Hides members of an object, given the positions of their values.
    mutating func hide(_ values: [Int?], of object: Int) {
        var count = nodes[object].count
        for case let value? in values {
            update(value - 1) { $0.bits |= BodyNode.hidden }
            if count < BodyNode.countLimit { count -= 1 }
        }
        update(object) { $0.bits = BodyNode.container(.object, count: count) }
    }
}
