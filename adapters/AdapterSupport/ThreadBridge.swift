package import SignalboxCore
import Synchronization

/// Hand-off between an adapter's OS thread and the Swift task of its run; neither blocks on the other.
package final class ThreadBridge<Failure: Error>: Sendable {
    /// How the thread's work ended.
    package enum End: Sendable {
        /// The work returned, or threw this error.
        case returned(Failure?)
        /// The thread is in a call that may block for long. It is detached and ends by itself later.
        case detached
    }

    /// Interrupts the thread's waits.
    package let wake: WakeSignal
    /// The thread's requests for room in the intake.
    package let room = RoomRequests()
    private let ended = Promise<End>()
    private let thread = Mutex<OwnedThread?>(nil)
    private let state = Mutex((isStopping: false, isInBlockingCall: false))

    /// - Throws: ``SystemResourceError`` if no file descriptor is available.
    package init() throws(SystemResourceError) {
        wake = try WakeSignal()
    }

    /// Runs the closure on a new thread. Call it once, and then ``ended(serving:)`` or ``served(by:)`` once.
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

    /// Waits until the thread has ended or is detached, and meanwhile answers its requests for room. Cancellation does
    /// not end the wait: the thread always ends or is detached.
    ///
    /// - Parameter intake: The intake to ask for room. When it is closed, the thread is stopped.
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

    /// As ``ended(serving:)``, but cancellation of the task stops the thread.
    package func served(by intake: any Intake) async -> End {
        await withTaskCancellationHandler {
            await ended(serving: intake)
        } onCancel: {
            stop()
        }
    }

    // MARK: - Any thread

    /// Requests the thread's graceful end. A thread in a ``blocking(_:)`` call is detached. Idempotent.
    package func stop() {
        let isInBlockingCall = state.withLock { state in
            defer { state.isStopping = true }
            return state.isInBlockingCall && !state.isStopping
        }
        wake.wake()
        if isInBlockingCall { detach() }
    }

    /// Ends ``ended(serving:)`` without waiting for the thread.
    package func detach() {
        ended.set(.detached)
    }

    // MARK: - The thread

    package var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Makes a call that may block for long. A stop does not wait for it.
    ///
    /// - Returns: `nil` if the thread was already stopping and the call was not made.
    package func blocking<Result>(_ call: () -> Result) -> Result? {
        let mayCall = state.withLock { state in
            state.isInBlockingCall = !state.isStopping
            return state.isInBlockingCall
        }
        guard mayCall else { return nil }
        defer { state.withLock { $0.isInBlockingCall = false } }
        return call()
    }
}

/// Waits for room in the intake on behalf of a thread that must not block.
package final class RoomRequests: Sendable {
    /// The known state of the intake.
    package enum Room: Equatable, Sendable { case unknown, free, closed }

    private let room = Mutex(Room.unknown)
    private let requests: AsyncStream<Void>
    private let requesting: AsyncStream<Void>.Continuation

    package init() {
        (requests, requesting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The thread

    /// Requests room. The thread is woken when there is an answer.
    package func want() {
        room.withLock { $0 = .unknown }
        requesting.yield()
    }

    /// The answer to the last request, `unknown` while it is pending.
    package var answer: Room { room.withLock { $0 } }

    // MARK: - A task

    /// Answers requests until ``finish()`` is called or the intake closes.
    ///
    /// - Parameter answered: A closure that wakes the thread.
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

    /// Ends ``serve(_:answered:)``. No request may follow. Any thread.
    package func finish() {
        requesting.finish()
    }
}

extension Intake {
    /// Submits a batch and clamps the result to its size, because an intake may return any number.
    package func take(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        min(max(0, submit(batch, to: sink)), batch.count)
    }
}
