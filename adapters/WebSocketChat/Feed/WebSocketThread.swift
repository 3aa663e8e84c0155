import Synchronization

/// The thread on which feeds read and write: feeds that are given the same one share it. Any thread.
///
/// It begins with the first feed that runs and ends with the last; the next that runs begins a new one. Fit for about a
/// hundred connections.
public final class WebSocketThread: Sendable {
    // `nil`: the thread ended meanwhile.
    private typealias Waiter = CheckedContinuation<Result<FeedService, TransportFault>?, Never>

    private enum State {
        case idle
        /// Somebody begins the thread, for these too.
        case beginning([Waiter])
        case running(FeedService, feeds: Int)
    }

    private let state = Mutex(State.idle)

    /// A thread that has yet to begin.
    public init() {}

    /// The running thread, for one more feed, which calls ``leave(_:)`` in the end.
    func join() async throws(TransportFault) -> FeedService {
        while true {
            if mustBegin() { return try await begin() }
            if let result = await withCheckedContinuation(wait) { return try result.get() }
        }
    }

    private func mustBegin() -> Bool {
        state.withLock { state in
            guard case .idle = state else { return false }
            state = .beginning([])
            return true
        }
    }

    private func wait(_ waiter: Waiter) {
        let service = state.withLock { state -> FeedService?? in
            switch state {
            case .idle: return .some(nil)
            case .beginning(let waiters):
                state = .beginning(waiters + [waiter])
                return nil
            case .running(let service, let feeds):
                state = .running(service, feeds: feeds + 1)
                return service
            }
        }
        if let service { waiter.resume(returning: service.map { .success($0) }) }
    }

    private func begin() async throws(TransportFault) -> FeedService {
        let result: Result<FeedService, TransportFault>
        do throws(TransportFault) { result = .success(try await FeedService.begin()) } catch {
            result = .failure(error)
        }
        let waiters = state.withLock { state -> [Waiter] in
            guard case .beginning(let waiters) = state else { return [] }
            if case .success(let service) = result {
                state = .running(service, feeds: 1 + waiters.count)
            } else {
                state = .idle
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: result) }
        return try result.get()
    }

    /// A feed needs the thread no more; returns when the thread has ended, if it was the last.
    func leave(_ service: FeedService) async {
        let wasLast = state.withLock { state in
            guard case .running(let current, let feeds) = state, current === service else { return false }
            state = feeds == 1 ? .idle : .running(service, feeds: feeds - 1)
            return feeds == 1
        }
        if wasLast { await service.end() }
    }
}
