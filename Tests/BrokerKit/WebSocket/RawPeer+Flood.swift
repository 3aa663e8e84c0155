import Foundation

extension RawPeer {
    /// Writes the block again and again on a thread that may wait, until `isEnough` or the other side takes no more.
    func writing(
        _ block: [UInt8],
        until isEnough: @escaping @Sendable () -> Bool,
        _ done: @escaping @Sendable () -> Void
    ) {
        Thread.detachNewThread { [self] in
            while !isEnough() { write(block) }
            done()
        }
    }
}
