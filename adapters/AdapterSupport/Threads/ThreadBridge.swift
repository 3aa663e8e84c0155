package import SignalboxCore
import Synchronization

/// Connects an adapter's operating-system thread with the Swift task that runs the adapter, so that neither blocks the
/// other.
///
/// Use a bridge if the adapter's C library needs a thread. Start the thread with ``start(_:)``, and wait for it to end
/// with ``served(by:)``. When the task is cancelled, the thread is stopped.
package final class ThreadBridge<Failure: Error>: Sendable {
    /// How the thread's work ended.
    package enum End: Sendable {
        /// The work returned, or threw the given error.
        case returned(Failure?)
        /// The bridge detached the thread, because the thread was in a call that may block for a long time. The thread
        /// will end by itself later.
        case detached
    }

    /// The signal that interrupts the thread when it is waiting.
    package let wake: WakeSignal
    /// The thread's requests for room in the intake.
    package let room = RoomRequests()
    private let ended = Promise<End>()
    private let thread = Mutex<OwnedThread?>(nil)
    private let isInBlockingCall = Mutex(false)
    /// Changed only under the lock of ``isInBlockingCall``. The thread reads it several times for each message.
    private let stopping = Atomic(false)

    /// - Throws: ``SystemResourceError`` if no file descriptor is available.
    package init() throws(SystemResourceError) {
        wake = try WakeSignal()
    }

    /// Runs the closure on a new thread. Call this method only once, and then call either ``ended(serving:)`` or
    /// ``served(by:)`` exactly once.
    package func start(_ work: @escaping @Sendable () throws(Failure) -> Void) throws(SystemResourceError) {
        let started = try OwnedThread { [ended] in
            do throws(Failure) {
                try work()
                ended.set(.returned(nil))
            } catch {
                ended.set(.returned(error))
            }
        }
        thread.withLock { $0 = started }
    }

    // MARK: - The task

    /// Waits until the thread has ended or is detached, and answers the thread's requests for room in the meantime.
    ///
    /// Cancelling the task does not end this wait.
    ///
    /// - Parameter intake: The intake to ask for room. When the intake is closed, the thread is stopped.
    package func ended(serving intake: (any Intake)? = nil) async -> End {
        await withDiscardingTaskGroup { group in
            if let intake {
                group.addTask { [self] in
                    await room.serve(intake) { answer in if answer == .closed { stop() } else { wake.wake() } }
                }
            }
            let end = await ended.value()
            room.finish()
            let thread = thread.withLock { $0.take() }
            if case .detached = end { thread?.detach() } else { thread?.join() }
            return end
        }
    }

    /// Waits like ``ended(serving:)``, but stops the thread when the task is cancelled.
    package func served(by intake: any Intake) async -> End {
        await withTaskCancellationHandler {
            await ended(serving: intake)
        } onCancel: {
            stop()
        }
    }

    // MARK: - Any thread

    /// Asks the thread to end gracefully, or detaches it if it is in a ``blocking(_:)`` call. Calling this method again
    /// has no effect.
    package func stop() {
        let mustDetach = isInBlockingCall.withLock { isInBlockingCall in
            let isFirst = !stopping.exchange(true, ordering: .releasing)
            return isFirst && isInBlockingCall
        }
        wake.wake()
        if mustDetach { detach() }
    }

    /// Detaches the thread, so that ``ended(serving:)`` returns without waiting for it.
    package func detach() {
        ended.set(.detached)
    }

    // MARK: - The thread

    package var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Makes a call that may block for a long time. Stopping the thread does not wait for this call.
    ///
    /// - Returns: The result of the call, or `nil` if the call was not made because the thread was already stopping.
    package func blocking<Result>(_ call: () -> Result) -> Result? {
        let mayCall = isInBlockingCall.withLock { isInBlockingCall in
            isInBlockingCall = !isStopping
            return isInBlockingCall
        }
        guard mayCall else { return nil }
        defer { isInBlockingCall.withLock { $0 = false } }
        return call()
    }
}

/// Lets a thread ask a Swift task to wait for room in an intake, because the thread itself cannot wait for a task.
package final class RoomRequests: Sendable {
    /// What is known about the intake.
    package enum Room: Equatable, Sendable { case unknown, free, closed }

    private let room = Mutex(Room.unknown)
    private let requests: AsyncStream<Void>
    private let requesting: AsyncStream<Void>.Continuation

    package init() {
        (requests, requesting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The thread

    /// Requests room. The thread is woken when the answer is available.
    package func want() {
        room.withLock { $0 = .unknown }
        requesting.yield()
    }

    /// The answer to the last request, or `unknown` while the request is pending.
    package var answer: Room { room.withLock { $0 } }

    // MARK: - A task

    /// Answers requests until ``finish()`` is called or the intake closes.
    ///
    /// - Parameter answered: A closure that is called with each answer and must wake the thread.
    package func serve(_ intake: any Intake, answered: @Sendable (Room) -> Void) async {
        for await _ in requests {
            let found: Room
            do throws(SourceClosed) {
                try await intake.room()
                found = .free
            } catch {
                found = .closed
            }
            room.withLock { $0 = found }
            answered(found)
            if found == .closed { return }
        }
    }

    /// Ends ``serve(_:answered:)``. The thread must not make any requests after this call, which is safe to make from
    /// any thread.
    package func finish() {
        requesting.finish()
    }
}

extension Intake {
    /// Submits a batch and returns how many arrivals the intake has taken. The result is limited to the size of the
    /// batch, because an intake may return any number.
    package func take(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        min(max(0, submit(batch, to: sink)), batch.count)
    }
}
