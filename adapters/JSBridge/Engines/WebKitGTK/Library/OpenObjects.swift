#if WebKitGTK
import CWebKitGTK
import Synchronization

/// How many objects of a kind this process has, for tests that look for what is never let go. Any thread.
struct OpenObjects: Sendable, Hashable {
    private static let counts = Mutex(OpenObjects())

    /// Web views of the library.
    var views = 0
    /// Questions about URLs that the library awaits an answer to.
    var questions = 0
    /// Promises of pages that the library awaits an answer to.
    var replies = 0
    /// Scripts whose end the library has not told.
    var scripts = 0
    /// Pages of engines that run.
    var pages = 0

    /// What there is now.
    static var now: OpenObjects { counts.withLock { $0 } }

    static func add(_ count: Int, to kind: WritableKeyPath<OpenObjects, Int>) {
        counts.withLock { $0[keyPath: kind] += count }
    }

    /// Counts a view until the library destroys it.
    @GLibThread
    static func count(view: UnsafeMutablePointer<GObject>) {
        add(1, to: \.views)
        g_object_weak_ref(view, { _, _ in OpenObjects.add(-1, to: \.views) }, nil)
    }
}
#endif
