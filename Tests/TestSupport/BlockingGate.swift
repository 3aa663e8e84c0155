import Foundation
import SignalboxTesting

/// Blocks the threads of synchronous calls until it is opened.
public final class BlockingGate: Sendable {
    private let entered = Watched(0)
    private let opened = DispatchSemaphore(value: 0)

    /// Creates a closed gate.
    public init() {}

    /// Waits on the current thread.
    public func pass() {
        entered.change { $0 += 1 }
        opened.wait()
        opened.signal()
    }

    /// Waits until calls have come to the gate.
    public func untilEntered(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await entered.until(file: file, line: line) { $0 >= count }
    }

    /// Lets all present and later calls pass.
    public func open() {
        opened.signal()
    }

    /// Runs a closure on a new thread, which it may block.
    public func onAnotherThread(_ work: @escaping @Sendable () -> Void) {
        Thread.detachNewThread(work)
    }
}
