import Foundation
import Synchronization

/// Starts programs so that tests which run at the same time do not disturb each other.
enum ProcessStart {
    /// A program that is started while another one's pipes are made would inherit them, and keep them open.
    private static let oneAtATime = Mutex(())
    /// Who writes to a program that has ended is to have an error, and not to be ended too.
    private static let brokenPipesAreErrors: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Starts a program while no other is started. It must set the signals that the program blocks itself: Swift's pool threads
    /// block them all, and a program inherits that.
    static func alone<Result>(_ start: () throws -> Result) rethrows -> Result {
        _ = brokenPipesAreErrors
        return try oneAtATime.withLock { _ in try start() }
    }
}
