import Dispatch
import Foundation
import SignalboxTesting

/// Blocks the threads of synchronous calls until it is opened.
final class BlockingGate: Sendable {
    private let entered = Watched(0)
    private let opened = DispatchSemaphore(value: 0)

    /// Waits on the current thread.
    func pass() {
        entered.change { $0 += 1 }
        opened.wait()
        opened.signal()
    }

    /// Waits until calls have come to the gate.
    func untilEntered(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await entered.until(file: file, line: line) { $0 >= count }
    }

    /// Lets all calls pass, those to come included.
    func open() {
        opened.signal()
    }

    /// Runs a closure on a new thread, which it may block.
    func onAnotherThread(_ work: @escaping @Sendable () -> Void) {
        Thread.detachNewThread(work)
    }
}
