import SignalboxCore
import Synchronization

/// Waits for room in the intake on behalf of a thread that must not block.
final class RoomRequests: Sendable {
    /// The known state of the intake.
    enum Room: Equatable, Sendable { case unknown, free, closed }

    private let room = Mutex(Room.unknown)
    private let requests: AsyncStream<Void>
    private let requesting: AsyncStream<Void>.Continuation

    init() {
        (requests, requesting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - The service's thread

    /// Requests room. The thread is woken when there is an answer.
    func want() {
        room.withLock { $0 = .unknown }
        requesting.yield()
    }

    /// The answer to the last request, `unknown` while it is pending.
    var answer: Room { room.withLock { $0 } }

    // MARK: - A task

    /// Answers requests until ``finish()`` is called or the intake closes.
    ///
    /// - Parameter woken: A closure that wakes the thread.
    func serve(_ intake: any Intake, woken: @Sendable () -> Void) async {
        for await _ in requests {
            do throws(SourceClosed) {
                try await intake.room()
                room.withLock { $0 = .free }
                woken()
            } catch {
                room.withLock { $0 = .closed }
                return woken()
            }
        }
    }

    /// Ends ``serve(_:woken:)``. No request may follow. Any thread.
    func finish() {
        requesting.finish()
    }
}
