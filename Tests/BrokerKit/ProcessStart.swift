public import Foundation
import Synchronization

/// Starts programs so that tests which run at the same time do not disturb each other.
public enum ProcessStart {
    /// Foundation notices a program's end by the end of a socket that the program inherits. A second program that is
    /// started in the same moment inherits it too, and then the end of the first is noticed only with that of the second.
    private static let oneAtATime = Mutex(())
    /// Who writes to a program that has ended is to have an error, and not to be ended too.
    private static let brokenPipesAreErrors: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Starts the process.
    ///
    /// - Throws: what `Process.run()` throws.
    public static func run(_ process: Process) throws {
        _ = brokenPipesAreErrors
        try oneAtATime.withLock { _ in try withoutBlockedSignals { try process.run() } }
    }

    /// Starts a program in another way, while no other is started. It must set the signals that the program blocks itself.
    static func alone<Result>(_ start: () -> Result) -> Result {
        _ = brokenPipesAreErrors
        return oneAtATime.withLock { _ in start() }
    }

    /// A program inherits the signals that its parent's thread blocks, and Swift's pool threads block them all: it would
    /// never hear SIGTERM.
    private static func withoutBlockedSignals(_ start: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try start()
    }
}
