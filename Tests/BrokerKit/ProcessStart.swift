import Foundation
import Synchronization

/// Starts programs so that tests which run at the same time do not disturb each other.
enum ProcessStart {
    /// A program that starts between the making of a pipe and its close-on-exec flag would inherit the pipe and keep it open.
    private static let oneAtATime = Mutex(())
    /// Who writes to a program that has ended is to have an error, and not to be ended too.
    private static let brokenPipesAreErrors: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Starts a program, or makes a pipe, while nobody else does. Whoever starts a program must unblock its signals: Swift's pool
    /// threads block them all, and a program inherits that.
    static func alone<Result>(_ start: () throws -> Result) rethrows -> Result {
        _ = brokenPipesAreErrors
        return try oneAtATime.withLock { _ in try start() }
    }
}
