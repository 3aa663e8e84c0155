import SignalboxCore

/// Records in a file which messages are being handled, and recognises those that processes did not survive. Belongs to the
/// source's thread.
final class DeliveryWatch {
    private let limit: MQTTDeliveryLimit
    private let file: DeliveryFile
    private let log: PushLog
    private let receiveMaximum: Int
    private var record: DeliveryRecord
    /// The marks of the batch that is being filled.
    private var marks: [DeliveryMark] = []
    /// How many other messages may come on this connection before the suspects are forgotten.
    private var patience: Int

    /// - Throws: ``DeliveryFileError``.
    init(_ limit: MQTTDeliveryLimit, receiveMaximum: Int, log: PushLog) throws(DeliveryFileError) {
        self.limit = limit
        self.log = log
        self.receiveMaximum = receiveMaximum
        file = try DeliveryFile(path: limit.file)
        // Long enough for any configuration: the previous one may have had longer batches.
        record = try file.read(limit: DeliveryRecord.underWayOffset + 16 * 65_535).afterDeath
        patience = receiveMaximum + record.suspects.count
        try file.write(record)
    }

    /// Whether messages must be handled one by one, as one of them may have ended a process.
    var isIsolating: Bool { patience > 0 && !record.suspects.isEmpty }

    /// A connection was made.
    ///
    /// - Parameter isSessionKept: whether the broker still has unacknowledged messages. It sends these before all others.
    func connected(isSessionKept: Bool) {
        marks = []
        patience = receiveMaximum + record.suspects.count
        if !isSessionKept { forgetSuspects() }
    }

    /// Adds a message to the batch that is being filled.
    ///
    /// - Parameter topic: its topic, for the reason.
    /// - Returns: why it is not handled, if it has used up its deliveries.
    func received(_ mark: DeliveryMark, on topic: UnsafeRawBufferPointer) -> Outcome.Rejection? {
        marks.append(mark)
        guard !record.suspects.isEmpty else { return nil }
        let deaths = record.deaths(with: mark)
        if deaths == 0, patience > 0 {
            patience -= 1
            if patience == 0 { forgetSuspects() }
        }
        guard deaths >= limit.deliveries else { return nil }
        return Outcome.Rejection(
            .deliveryLimit,
            detail: "the program ended \(deaths) times while handling this message on"
                + " \(String(decoding: topic, as: UTF8.self)); it is not handled again"
        )
    }

    /// The batch is about to be handled.
    func begin() {
        guard !marks.isEmpty else { return }
        record.begin(marks)
        marks.removeAll(keepingCapacity: true)
        save { [file, record] () throws(DeliveryFileError) in try file.writeUnderWay(record) }
    }

    /// Ends the batch.
    ///
    /// - Parameter isSettled: whether its messages are settled, and so do not come again.
    func end(isSettled: Bool) {
        guard !record.underWay.isEmpty else { return }
        let isCleared = record.end(isSettled: isSettled)
        save { [file, record] () throws(DeliveryFileError) in
            if isCleared { try file.write(record) } else { try file.writeUnderWay(record) }
        }
    }

    private func forgetSuspects() {
        guard !record.suspects.isEmpty else { return }
        record.forgetSuspects()
        save { [file, record] () throws(DeliveryFileError) in try file.write(record) }
    }

    private func save(_ write: () throws(DeliveryFileError) -> Void) {
        do throws(DeliveryFileError) { try write() } catch { log.deliveriesUncounted(limit.file, error.reason) }
    }
}
