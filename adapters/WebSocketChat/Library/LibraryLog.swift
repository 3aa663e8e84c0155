import CLibwebsockets
import Synchronization

/// What the library says of errors and warnings. Its log is one for the process.
enum LibraryLog {
    struct Line: Equatable, Sendable {
        let isError: Bool
        /// One line of at most ``limit`` bytes, without control characters.
        let text: String
    }

    /// A line's length in bytes.
    static let limit = 256

    private static let listener = Mutex<(@Sendable (Line) -> Void)?>(nil)

    /// Who is told, on any thread, from now on; the library writes nothing to standard error.
    static func listen(_ body: (@Sendable (Line) -> Void)?) {
        listener.withLock { $0 = body }
    }

    /// Needed before the first context is made, as the level is the process's.
    static let attached: Void = lws_set_log_level(LLL_ERR | LLL_WARN, libraryLogged)

    static func logged(level: Int32, _ line: UnsafePointer<CChar>) {
        guard let body = listener.withLock({ $0 }) else { return }
        let text = LibraryText.shown(line, limit: limit)
        // Whoever refused a request knows it.
        guard !text.contains("User code denied connection") else { return }
        body(Line(isError: level == LLL_ERR, text: text))
    }
}
