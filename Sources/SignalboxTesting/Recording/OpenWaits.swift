import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Keeps track of the pending waits in a test process, to show where a test run hangs.
///
/// Waits are recorded only if `SIGNALBOX_REPORT_WAITS` is set in the environment. On `SIGUSR2`, the process then writes
/// all pending waits to standard error and terminates with that signal. A wait that is cancelled is written
/// immediately.
package enum OpenWaits {
    /// The location of a wait in the source code.
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

    /// The maximum number of lines in a report, so that it stays readable.
    private static let lineLimit = 60
    private static let state = Mutex(State())
    private static let isOn: Bool = {
        guard getenv("SIGNALBOX_REPORT_WAITS") != nil else { return false }
        signal(SIGUSR2, SIG_IGN)
        // A serial queue gets a thread even if all threads in the pool are blocked, which may be the case if a run
        // hangs.
        let queue = DispatchQueue(label: "signalbox.open-waits")
        let listener = DispatchSource.makeSignalSource(signal: SIGUSR2, queue: queue)
        // The handler retains the source for the lifetime of the process.
        listener.setEventHandler { withExtendedLifetime(listener) { reportAndEnd() } }
        listener.activate()
        return true
    }()

    /// Records that a wait has started.
    ///
    /// - Returns: The argument for ``end(_:wasCancelled:)``, or `nil` if waits are not being recorded.
    package static func begin(_ location: Location) -> UInt64? {
        guard isOn else { return nil }
        return state.withLock { state in
            state.made += 1
            state.locations[state.made] = location
            return state.made
        }
    }

    /// Removes a wait. If the wait was cancelled, its location is written to standard error.
    package static func end(_ number: UInt64?, wasCancelled: Bool) {
        guard let number, let location = state.withLock({ $0.locations.removeValue(forKey: number) }) else { return }
        if wasCancelled { report("a wait was cancelled: \(location.file):\(location.line)\n") }
    }

    /// Records a wait that does not use ``Watched``, for as long as it lasts.
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

    // `print()` cannot be used here, because standard output is buffered and the process is about to end.
    private static func report(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
