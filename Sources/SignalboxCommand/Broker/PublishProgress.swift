import AdapterSupport
import MQTTPush
import SignalboxCore
import Synchronization

/// The progress of publishing many messages, for a line on a terminal.
final class PublishMeter: Sendable {
    private struct State {
        var bytes = 0
        var refused = 0
        var progress: PublishProgress
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    /// - Parameter total: What there is to publish, or `nil` if that is not known.
    init(total: PublishProgress.Total?) {
        state = Mutex(State(progress: PublishProgress(total: total)))
    }

    /// Records how many bytes of stdin were read, and how many lines were refused.
    func record(bytes: Int, refused: Int) {
        state.withLock { ($0.bytes, $0.refused) = (bytes, refused) }
    }

    /// Returns the text of the line.
    func text(_ counts: MQTTPublishCounts) -> String {
        let elapsed = ContinuousClock.now - start
        return state.withLock { state in
            state.progress.text(
                published: counts.published,
                failed: counts.failed + state.refused,
                bytes: state.bytes,
                at: elapsed
            )
        }
    }
}

/// Formats the progress of publishing as text such as `1200 published, 3 failed, 4100/s, 38 %, 12s left`.
struct PublishProgress: Sendable {
    /// What there is to publish.
    enum Total: Sendable {
        case messages(Int)
        /// The bytes of a file, which is read a little ahead of what is published.
        case bytes(Int)
    }

    /// The time over which the rate is measured.
    private static let window: Duration = .seconds(2)

    let total: Total?
    private var samples: [(time: Duration, published: Int)] = [(.zero, 0)]

    init(total: Total?) {
        self.total = total
    }

    /// Returns the text, and remembers the numbers for the rate.
    ///
    /// - Parameters:
    ///   - published: The number of messages that were published.
    ///   - failed: The number of messages that were not.
    ///   - bytes: The number of bytes that were read.
    ///   - elapsed: The time since the start. It never decreases.
    mutating func text(published: Int, failed: Int, bytes: Int, at elapsed: Duration) -> String {
        samples.append((elapsed, published))
        while samples.count > 2, let second = samples.dropFirst().first, elapsed - second.time >= Self.window {
            samples.removeFirst()
        }
        var parts = ["\(published) published"]
        if failed > 0 { parts.append("\(failed) failed") }
        if let first = samples.first, elapsed > first.time {
            let rate = Double(published - first.published) / ((elapsed - first.time) / .seconds(1))
            parts.append("\(Int(rate.rounded()))/s")
        }
        if let share = share(done: published + failed, bytes) {
            parts.append("\(Int(share * 100)) %")
            // Before that, the estimate says nothing.
            if elapsed >= .seconds(1), share > 0, share < 1 {
                let left = Int(((elapsed / .seconds(1)) * (1 - share) / share).rounded())
                parts.append("\(PublishProgress.time(max(1, left))) left")
            }
        }
        return parts.joined(separator: ", ")
    }

    /// Returns how much is done, from 0 to 1, or `nil` if that is not known.
    private func share(done: Int, _ bytes: Int) -> Double? {
        switch total {
        case .messages(let count)?: count > 0 ? min(1, Double(done) / Double(count)) : nil
        case .bytes(let count)?: count > 0 ? min(1, Double(bytes) / Double(count)) : nil
        case nil: nil
        }
    }

    /// Returns seconds as text with at most two units.
    private static func time(_ seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds)s"
        case ..<3_600: "\(seconds / 60)m \(seconds % 60)s"
        default: "\(seconds / 3_600)h \(seconds % 3_600 / 60)m"
        }
    }
}

extension PublishProgress.Total {
    /// The bytes of stdin that are still to be read, or `nil` if stdin is not a file.
    static var standardInput: PublishProgress.Total? {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return .bytes(Int(status.st_size - max(0, lseek(STDIN_FILENO, 0, SEEK_CUR))))
    }
}
