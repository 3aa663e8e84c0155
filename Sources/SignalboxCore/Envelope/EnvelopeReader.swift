/// Finds an arrival's name, id and body in the bytes of its message, as defined by the message's envelope.
struct EnvelopeReader {
    /// The start of the message. The message extends to the end of the bytes.
    let start: Int
    let depth: Int

    /// Parses the most recently appended message.
    ///
    /// - Throws: ``BodyError`` with an offset relative to the message's first byte.
    @inline(__always)
    func read(
        _ envelope: Envelope,
        _ payload: PayloadKind,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        switch envelope.form {
        case .payload(let envelope):
            try read(envelope, from: &buffers, into: &record)
        case .route(let naming, let envelope):
            try read(naming, envelope, payload, from: &buffers, into: &record)
        case .handler(let name):
            try read(postedTo: name, from: &buffers, into: &record)
        case .address(let action, let naming):
            record.body = UInt32(buffers.join(naming.captures, toBodyAt: buffers.push(emptyBody(.json))))
            name(action, in: &buffers, into: &record)
            identify(naming, in: &buffers, into: &record)
        }
    }

    private func read(
        _ envelope: PayloadEnvelope,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        switch envelope.form {
        case .standard:
            let root = try parseObject(&buffers)
            try read(EnvelopeMembers(of: root, in: buffers), of: root, from: &buffers, into: &record)
        case .apns: try readAPNs(from: &buffers, into: &record)
        case .cloudEvents: try readCloudEvent(from: &buffers, into: &record)
        }
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
                return try read(members, of: root, from: &buffers, into: &record)
            }
        }
        record.body = UInt32(root)
        name(handler, in: &buffers, into: &record)
    }

    private func read(
        _ members: EnvelopeMembers,
        of root: Int,
        from buffers: inout BatchBuffers,
        into record: inout ArrivalRecord
    ) throws(BodyError) {
        try readName(members.action, "action", from: &buffers, into: &record)
        try readID(members, from: &buffers, into: &record)
        record.body = UInt32(members.body ?? buffers.push(emptyBody(.json)))
        if members.hasTraceParent { record.metadata = UInt32(root) }
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
            do throws(BodyError) {
                try read(envelope, from: &buffers, into: &record)
            } catch {
                throw envelope.form == .standard ? error.explainedByRoute : error
            }
        }
        join(naming, in: &buffers, into: &record)
    }

    private func name(_ action: ActionName, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        record.setName(action.bytes.withUnsafeBytes { buffers.append($0) }, length: action.bytes.count)
    }

    /// Adds the route's id and captures to an arrival.
    private func join(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        identify(naming, in: &buffers, into: &record)
        guard !naming.captures.isEmpty else { return }
        record.body = UInt32(buffers.join(naming.captures, toBodyAt: Int(record.body)))
    }

    private func identify(_ naming: RouteNaming, in buffers: inout BatchBuffers, into record: inout ArrivalRecord) {
        guard let id = naming.id else { return }
        record.setID(id.bytes.withUnsafeBytes { buffers.append($0) }, length: id.bytes.count, key: .id)
    }

    /// Parses the payload and returns the position of the body's node.
    private func readPayload(_ payload: PayloadKind, from buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let length = buffers.bytes.count - start
        guard length > 0 else { return buffers.push(emptyBody(payload)) }
        switch payload {
        case .json:
            return try buffers.parse(from: start, depth: depth)
        case .text:
            try buffers.checkText(from: start)
            return buffers.push(.text, start..<start + length)
        case .bytes:
            return buffers.push(.bytes, start..<start + length)
        }
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

    /// Parses the message, which must be an object, and returns the position of its root.
    func parseObject(_ buffers: inout BatchBuffers) throws(BodyError) -> Int {
        let root = try buffers.parse(from: start, depth: depth)
        guard buffers.nodes[root].is(.object) else { throw mismatch(buffers.nodes[root], path: "", "an object") }
        return root
    }
}

extension EnvelopeReader {
    /// Reads the action's name.
    ///
    /// - Parameter member: The envelope member that holds the name.
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
            throw error(.invalidValue, at: node, path: member, problem.description)
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
            throw error(.invalidValue, at: node, path: path, "expected id or uuid, not both")
        }
        let range = try idRange(of: node, path: path, in: &buffers)
        record.setID(range.lowerBound, length: range.count, key: id == nil ? .uuid : .id)
    }

    /// Returns the range of an id's text.
    func idRange(of node: BodyNode, path: String, in buffers: inout BatchBuffers) throws(BodyError) -> Range<Int> {
        guard node.is(.string) else { throw mismatch(node, path: path) }
        let range = buffers.plainRange(of: node)
        guard (1...ActionID.maximumLength).contains(range.count) else {
            throw error(.invalidValue, at: node, path: path, "expected 1 to \(ActionID.maximumLength) bytes")
        }
        return range
    }

    func mismatch(_ node: BodyNode, path: String, _ expected: String = "a string") -> BodyError {
        error(.typeMismatch, at: node, path: path, "expected \(expected)")
    }

    func error(_ code: BodyError.Code, at node: BodyNode, path: String, _ detail: String) -> BodyError {
        BodyError(code, path: path, offset: node.firstByte - start, detail: detail)
    }
}

/// The positions of a standard envelope's members in the index, or `nil` for absent members.
struct EnvelopeMembers {
    var action: Int?
    var id: Int?
    var uuid: Int?
    var body: Int?
    /// Whether there is a member `traceparent`. Its value is read when it is needed.
    var hasTraceParent = false

    /// Scans the members of the object at `root` once, skipping members with other names.
    init(of root: Int, in buffers: borrowing BatchBuffers) {
        let end = Int(buffers.nodes[root].next)
        var key = root + 1
        while key < end {
            switch EnvelopeMembers.member(named: buffers.nodes[key], in: buffers) {
            case .action: action = key + 1
            case .id: id = key + 1
            case .uuid: uuid = key + 1
            case .body: body = key + 1
            case .traceparent: hasTraceParent = true
            case nil: break
            }
            key = Int(buffers.nodes[key + 1].next)
        }
    }

    private enum Member: String {
        case action, id, uuid, body, traceparent
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
        // The first eight bytes are "tracepar".
        case 11: return buffers.word(at: key) == 0x7261_7065_6361_7274 ? Member(rawValue: buffers.text(of: key)) : nil
        default: return nil
        }
    }
}

extension EnvelopeReader {
    /// Parses an APNs payload, storing the object `aps` separately. All other members, except the name and the id,
    /// become the body.
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

    /// Hides an object's members, given the positions of their values.
    mutating func hide(_ values: [Int?], of object: Int) {
        var count = nodes[object].count
        for case let value? in values {
            update(value - 1) { $0.bits |= BodyNode.hidden }
            if count < BodyNode.countLimit { count -= 1 }
        }
        update(object) { $0.bits = BodyNode.container(.object, count: count) }
    }
}

extension BodyError {
    /// The error about a message on a route that names no action. If the message is no envelope, the error says why it
    /// should be one.
    fileprivate var explainedByRoute: BodyError {
        let isNoEnvelope =
            switch code {
            case .missingMember: path == "action"
            case .typeMismatch: path.isEmpty
            case .invalidSyntax, .unexpectedEnd: (offset ?? 0) == 0
            default: false
            }
        guard isNoEnvelope else { return self }
        return BodyError(
            code,
            path: path,
            offset: offset,
            detail: #"expected an envelope {"action": ...}, because neither the pattern of the route nor its 'action' "#
                + "names the action"
        )
    }
}
