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
