extension Arrival {
    /// Returns the arrival with another body, for a plugin that hands the action on in another form. Its name, id, origin and
    /// sender stay. It has no original bytes, because dead letters are made of the arrival that was submitted.
    ///
    /// - Parameter json: The body, one JSON text.
    /// - Throws: ``BodyError`` if the text exceeds the limits.
    package func replacingBody(_ json: Bytes, limits: MessageLimits) throws(BodyError) -> Arrival {
        guard json.count <= limits.bytes else {
            throw BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
        }
        let action = uncheckedAction
        var buffers = BatchBuffers()
        let name = buffers.append(action.name.text)
        let id = buffers.append(action.id.text)
        let start = json.withUnsafeBytes { buffers.append($0) }
        var new = ArrivalRecord(token: token, receivedAt: receivedAt, origin: 0)
        new.originalStart = UInt32(start)
        new.originalLength = UInt32(json.count)
        new.body = UInt32(try buffers.parse(from: start, depth: limits.depth))
        new.setName(name.lowerBound, length: name.count)
        new.setID(id.lowerBound, length: id.count, key: record.idKey)
        new.envelope = envelope
        var tables = ArrivalTables()
        new.origin = tables.position(of: origin)
        if let sender { new.sender = tables.position(of: sender) }
        if let deadline = action.deadline { new.deadline = tables.position(of: deadline) }
        tables.keptIDs = [action.id]
        tables.trace = traceContext
        buffers.records.append(new)
        var arrival = Arrival(storage: BatchStorage(buffers: buffers, tables: tables), index: 0)
        arrival.isRedelivered = isRedelivered
        return arrival
    }
}

extension ActionContext {
    /// Returns the context of the same call with another arrival of the same action.
    package func replacing(_ arrival: Arrival) -> ActionContext {
        ActionContext(arrival: arrival, host: host, attempt: attempt)
    }
}
