import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The waits of a test process that have not ended, so that a test run which stands still can say what it waits for.
///
/// Off unless the environment has `SIGNALBOX_REPORT_WAITS`. Then `SIGUSR2` makes the process write each open wait to standard
/// error and end by that signal. A wait that is cancelled, as by a test's time limit, is written at once.
package enum OpenWaits {
    /// Where a wait stands in the source.
    package struct Place: Hashable {
        let file: StaticString
        let line: UInt

        package init(file: StaticString, line: UInt) {
            self.file = file
            self.line = line
        }

        package static func == (left: Place, right: Place) -> Bool {
            left.line == right.line && left.file.description == right.file.description
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(line)
        }
    }

    private struct State {
        var made: UInt64 = 0
        var places: [UInt64: Place] = [:]
    }

    /// The most lines of one report: what a person reads.
    private static let lineLimit = 60
    private static let state = Mutex(State())
    private static let isOn: Bool = {
        guard getenv("SIGNALBOX_REPORT_WAITS") != nil else { return false }
        signal(SIGUSR2, SIG_IGN)
        // A serial queue gets a thread even when the pool's are all taken, which is when a run stands still.
        let queue = DispatchQueue(label: "signalbox.open-waits")
        let listener = DispatchSource.makeSignalSource(signal: SIGUSR2, queue: queue)
        // The handler keeps the source, which lasts as long as the process.
        listener.setEventHandler { withExtendedLifetime(listener) { reportAndEnd() } }
        listener.activate()
        return true
    }()

    /// Notes that a wait begins.
    ///
    /// - Returns: what to give to ``end(_:wasCancelled:)``; `nil` when nothing is noted.
    package static func begin(_ place: Place) -> UInt64? {
        guard isOn else { return nil }
        return state.withLock { state in
            state.made += 1
            state.places[state.made] = place
            return state.made
        }
    }

    /// Forgets a wait, and writes where it was if it was cancelled.
    package static func end(_ number: UInt64?, wasCancelled: Bool) {
        guard let number, let place = state.withLock({ $0.places.removeValue(forKey: number) }) else { return }
        if wasCancelled { say("a wait was cancelled: \(place.file):\(place.line)\n") }
    }

    /// Runs a wait of another kind than ``Watched``'s, and notes it until it ends.
    package static func noting<Result>(
        _ file: StaticString,
        _ line: UInt,
        isolation: isolated (any Actor)? = #isolation,
        _ wait: () async -> Result
    ) async -> Result {
        let open = begin(Place(file: file, line: line))
        defer { end(open, wasCancelled: Task.isCancelled) }
        return await wait()
    }

    private static func reportAndEnd() {
        let counts = state.withLock { $0.places.values.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
        let lines = counts.map { "an open wait: \($0.file):\($0.line)\($1 == 1 ? "" : " (\($1) times)")\n" }.sorted()
        say("\n" + lines.prefix(lineLimit).joined())
        if lines.count > lineLimit { say("and \(lines.count - lineLimit) more open waits\n") }
        signal(SIGUSR2, SIG_DFL)
        kill(getpid(), SIGUSR2)
    }

    // Not print(): standard output is buffered, and the process is about to end.
    private static func say(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
