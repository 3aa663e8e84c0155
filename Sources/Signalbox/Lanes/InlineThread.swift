#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Whether the current thread is making an inline call. A plugin that such a call submits to runs on its lane, so that the
/// calls on one thread are never nested.
enum InlineThread {
    /// The key of the thread's mark, or `nil` if the system has none left. No thread then makes inline calls.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether the thread may make an inline call.
    static var isFree: Bool { key.map { pthread_getspecific($0) == nil } ?? false }

    /// Marks the thread while the closure runs.
    static func whileOccupied(_ body: () -> Void) {
        guard let key else { return body() }
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
        body()
        pthread_setspecific(key, nil)
    }
}
