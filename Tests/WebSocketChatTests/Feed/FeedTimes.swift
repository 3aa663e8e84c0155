import SignalboxTesting
import Synchronization

@testable import WebSocketChat

/// Time as a test wants it: waits between connections end when the test says so, and the clock goes as it says.
final class FeedTimes: Sendable {
    /// The waits between connections that have begun.
    let waits = EventList<Duration>()
    /// How often the clock was looked at.
    let looks = Watched(0)
    private let allowed = Watched(0)
    private let time = Mutex(ContinuousClock.now)
    private let step: Duration
    private let keepsWaits: Bool

    /// Time that stands still, and waits that do not end by themselves.
    init() {
        step = .zero
        keepsWaits = true
    }

    /// Time that goes on each time it is looked at, and real waits.
    init(step: Duration) {
        self.step = step
        keepsWaits = false
    }

    /// Each wait is as long as may be.
    var surroundings: FeedSurroundings {
        var surroundings = FeedSurroundings()
        surroundings.now = { [self] in
            looks.change { $0 += 1 }
            return time.withLock { time in
                time += step
                return time
            }
        }
        surroundings.share = { 1 }
        if keepsWaits { surroundings.sleep = { [self] in try await wait($0) } }
        return surroundings
    }

    func advance(by duration: Duration) {
        time.withLock { $0 += duration }
    }

    /// Lets so many more waits end.
    func letPass(_ count: Int = 1) {
        allowed.change { $0 += count }
    }

    private func wait(_ duration: Duration) async throws {
        waits.append(duration)
        let number = waits.all.count
        guard await allowed.until({ $0 >= number }) else { throw CancellationError() }
    }
}
