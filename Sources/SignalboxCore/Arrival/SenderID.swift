/// The id that a sender gave a message, and what else decides whether two messages are the same. Valid only during the call that
/// receives it.
package struct SenderID {
    /// The arrival's position in the array of arrivals.
    package let position: Int
    package let bytes: UnsafeRawBufferPointer
    /// The `source` attribute of a CloudEvent, or `nil` for other envelopes. The event's id is unique within this source
    /// (CloudEvents 1.0, `id`).
    package let source: String?
    /// See ``Arrival/contentHash(_:)``.
    package let content: UInt64
}

extension Arrival {
    /// Whether the sender supplied an id. Use this property only if the arrival is readable.
    package var hasSenderID: Bool { storage.records[Int(index)].idKey != .assigned }

    /// Calls `body` with each id that a sender gave to one of the arrivals, in order. This method retains nothing.
    ///
    /// - Parameter range: A run of similar arrivals (see ``endOfMatchingRun(_:in:)``).
    /// - Precondition: `range` is not empty.
    package static func forEachSenderID(
        _ arrivals: [Arrival],
        in range: Range<Int>,
        _ hash: SeededHash,
        _ body: (SenderID) -> Void
    ) {
        let storage = arrivals[range.lowerBound].storage
        storage.bytes.withUnsafeBytes { bytes in
            storage.records.withUnsafeBufferPointer { records in
                storage.nodes.withUnsafeBufferPointer { nodes in
                    let name = hash.value(of: bytes[name: records[Int(arrivals[range.lowerBound].index)]])
                    for position in range {
                        let record = records[Int(arrivals[position].index)]
                        guard record.idKey != .assigned else { continue }
                        let source = record.envelope == .cloudEvents ? arrivals[position].eventSource : nil
                        let content = content(of: Int(record.body), after: name, nodes, bytes, hash)
                        body(SenderID(position: position, bytes: bytes[id: record], source: source, content: content))
                    }
                }
            }
        }
    }

    /// Calls `body` with the sender's id, without copying it. If the sender supplied no id, `body` receives an empty buffer.
    package func withIDBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        storage.bytes.withUnsafeBytes { body($0[id: storage.records[Int(index)]]) }
    }

    /// The `source` attribute of a CloudEvent, or `nil` for other envelopes.
    ///
    /// The sender sets this attribute, so it says nothing about the arrival's origin. Use this property only if the
    /// arrival is readable.
    package var eventSource: String? {
        let record = storage.records[Int(index)]
        guard record.envelope == .cloudEvents, record.metadata != ArrivalRecord.none else { return nil }
        let event = BodyView(storage: storage, root: record.metadata, position: record.metadata)
        guard let source = event.member("source") else { return nil }
        return event.text(of: event.node(at: source))
    }

    /// Returns a hash of the action's name, the body's bytes as sent, and the route captures added to the body.
    ///
    /// Facts, times and other metadata are not hashed. The order of the captures does not change the hash: capture
    /// names are unique, and a link may list its query items in any order.
    package func contentHash(_ hash: SeededHash) -> UInt64 {
        let body = Int(storage.records[Int(index)].body)
        let name = withNameBytes { hash.value(of: $0) }
        return storage.bytes.withUnsafeBytes { bytes in
            storage.nodes.withUnsafeBufferPointer { Arrival.content(of: body, after: name, $0, bytes, hash) }
        }
    }

    private static func content(
        of body: Int,
        after name: UInt64,
        _ nodes: UnsafeBufferPointer<BodyNode>,
        _ bytes: UnsafeRawBufferPointer,
        _ hash: SeededHash
    ) -> UInt64 {
        let sent = hash.value(of: bytes[nodes[body].extent], after: name)
        return sent &+ captures(of: body, nodes, bytes, hash)
    }

    /// Returns the sum of the captures' hashes. Captures are stored before the other members of the body object.
    private static func captures(
        of object: Int,
        _ nodes: UnsafeBufferPointer<BodyNode>,
        _ bytes: UnsafeRawBufferPointer,
        _ hash: SeededHash
    ) -> UInt64 {
        let end = Int(nodes[object].next)
        var sum: UInt64 = 0
        var key = object + 1
        guard nodes[object].is(.object), end != key else { return 0 }
        while let length = captureLength(at: key + 1, nodes) {
            let name = hash.value(of: bytes[nodes[key].extent])
            sum &+= hash.value(of: bytes[nodes[key + 1].extent], after: name)
            // After the last capture, `next` leads to the sender's members, which are stored elsewhere, or to the end
            // of the object.
            let next = Int(nodes[key + 1].next)
            guard next == key + 1 + length, next != end else { break }
            key = next
        }
        return sum
    }

    /// Returns the number of nodes of a capture's text or list of texts, or `nil` if the value is not a capture's.
    private static func captureLength(at value: Int, _ nodes: UnsafeBufferPointer<BodyNode>) -> Int? {
        if nodes[value].is(.routeText) { return 1 }
        let count = Int(nodes[value].count)
        return nodes[value].is(.array) && count > 0 && nodes[value + 1].is(.routeText) ? count + 1 : nil
    }
}

extension BodyNode {
    /// The range of the value in the batch's bytes. For a string, the range includes the quotes.
    fileprivate var extent: Range<Int> { self.is(.string) ? firstByte..<end + 1 : Int(start)..<end }
}
