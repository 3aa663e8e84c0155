import Synchronization

/// The memory that ``Bytes``, ``Body``, ``ActionName``, ``ActionID`` and ``Arrival`` are ranges of.
///
/// It never changes once made, so it is shared between threads without a lock. When the last range is released its
/// buffers go back to the pool they came from; whoever keeps a few bytes for long copies them
/// (``Bytes/copied()``) instead of holding a whole batch.
@usableFromInline
package final class BatchStorage: Sendable {
    @usableFromInline package let bytes: [UInt8]
    @usableFromInline package let nodes: [BodyNode]
    package let records: [ArrivalRecord]
    package let tables: ArrivalTables
    /// Where an object's next member is expected: the object's position, and the name's in the low half. Each value is
    /// right about its object, so that it does not matter whose is kept.
    private let expectation = Atomic<UInt64>(0)
    private let pool: ArrivalPool?

    package init(bytes: [UInt8]) {
        self.bytes = bytes
        nodes = []
        records = []
        tables = ArrivalTables()
        pool = nil
    }

    package init(buffers: consuming BatchBuffers, tables: ArrivalTables, pool: ArrivalPool?) {
        bytes = buffers.bytes
        nodes = buffers.nodes
        records = buffers.records
        self.tables = tables
        self.pool = pool
    }

    deinit {
        pool?.giveBack(BatchBuffers(bytes: bytes, nodes: nodes, records: records))
    }
}

extension BatchStorage {
    /// The position of the name behind the member that was found last, when that was in the object at `object`.
    func expectedKey(of object: UInt32) -> UInt32? {
        let (owner, key) = expectation.load(ordering: .relaxed).quotientAndRemainder(dividingBy: 1 << 32)
        return owner == object && key > 0 ? UInt32(key) : nil
    }

    /// - Parameter key: the name's position, or the object's end.
    func expect(_ key: UInt32, of object: UInt32) {
        expectation.store(UInt64(object) << 32 | UInt64(key), ordering: .relaxed)
    }
}
