import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The pending waits of a test process. If a test run hangs, they show where it waits.
///
/// Waits are recorded only if the environment has `SIGNALBOX_REPORT_WAITS`. In that case, `SIGUSR2` makes the process
/// write each pending wait to standard error and end by that signal. A cancelled wait is written immediately.
package enum OpenWaits {
    /// The source location of a wait.
    package struct Location: Hashable {
        let file: StaticString
        let line: UInt

        package init(file: StaticString, line: UInt) {
            self.file = file
            self.line = line
        }

        package static func == (left: Location, right: Location) -> Bool {
            left.line == right.line && left.file.description == right.file.description
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(line)
        }
    }

    private struct State {
        var made: UInt64 = 0
        var locations: [UInt64: Location] = [:]
    }

    /// The maximum number of lines in one report, so that it stays readable.
    private static let lineLimit = 60
    private static let state = Mutex(State())
    private static let isOn: Bool = {
        guard getenv("SIGNALBOX_REPORT_WAITS") != nil else { return false }
        signal(SIGUSR2, SIG_IGN)
        // A serial queue gets a thread even if all threads of the pool are blocked, as they may be in a run that hangs.
        let queue = DispatchQueue(label: "signalbox.open-waits")
        let listener = DispatchSource.makeSignalSource(signal: SIGUSR2, queue: queue)
        // The handler retains the source for the lifetime of the process.
        listener.setEventHandler { withExtendedLifetime(listener) { reportAndEnd() } }
        listener.activate()
        return true
    }()

    /// Records the start of a wait.
    ///
    /// - Returns: The argument for ``end(_:wasCancelled:)``, or `nil` if waits are not recorded.
    package static func begin(_ location: Location) -> UInt64? {
        guard isOn else { return nil }
        return state.withLock { state in
            state.made += 1
            state.locations[state.made] = location
            return state.made
        }
    }

    /// Removes a wait, and writes its location if it was cancelled.
    package static func end(_ number: UInt64?, wasCancelled: Bool) {
        guard let number, let location = state.withLock({ $0.locations.removeValue(forKey: number) }) else { return }
        if wasCancelled { report("a wait was cancelled: \(location.file):\(location.line)\n") }
    }

    /// Records a wait that does not use ``Watched``, until it ends.
    package static func recording<Result>(
        _ file: StaticString,
        _ line: UInt,
        isolation: isolated (any Actor)? = #isolation,
        _ wait: () async -> Result
    ) async -> Result {
        let open = begin(Location(file: file, line: line))
        defer { end(open, wasCancelled: Task.isCancelled) }
        return await wait()
    }

    private static func reportAndEnd() {
        let counts = state.withLock { $0.locations.values.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
        let lines = counts.map { "an open wait: \($0.file):\($0.line)\($1 == 1 ? "" : " (\($1) times)")\n" }.sorted()
        report("\n" + lines.prefix(lineLimit).joined())
        if lines.count > lineLimit { report("and \(lines.count - lineLimit) more open waits\n") }
        signal(SIGUSR2, SIG_DFL)
        kill(getpid(), SIGUSR2)
    }

    // `print()` is not suitable here, because standard output is buffered and the process is about to end.
    private static func report(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
