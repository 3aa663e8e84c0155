import Logging
import SignalboxCore

/// Logs what a store reports.
enum StoreEvents {
    /// What to do about a store that cannot be read or written.
    static let advice = "free space on the device, or check the file's permissions; then it continues by itself"

    static func log(_ event: StoreEvent, to logger: Logger) {
        switch event {
        case .writeFailed(let reason): logger.write(.storeFailed, reason, [.advice: advice])
        case .writable(let failures): logger.write(.storeRecovered, nil, [.failures: "\(failures)"])
        case .lettersDeleted(let count):
            let advice = "find out why messages are not handled, replay or purge letters, or raise the store's limits"
            logger.write(.lettersDeleted, nil, [.dropped: "\(count)", .advice: advice])
        case .lettersNearlyFull(let percent):
            let advice = "replay or purge letters before the oldest are deleted"
            logger.write(.lettersNearlyFull, nil, [.limit: "\(percent) %", .advice: advice])
        case .historyDropped(let count):
            let advice = "nothing else is lost; if the disk is slow, keep no history"
            logger.write(.historyDropped, nil, [.dropped: "\(count)", .advice: advice])
        case .logTorn:
            let advice = "nothing that was acknowledged is lost, unless the disk confirms what it does not keep"
            logger.write(.logTorn, nil, [.advice: advice])
        }
    }
}
