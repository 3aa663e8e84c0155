#if WebKitGTK
import CWebKitGTK
import Synchronization

/// Holds a counted object of the C libraries; the holder is the one who calls anything of it.
final class ForeignReference: @unchecked Sendable {
    // Counting is atomic in these libraries; everything else of the object is used on the GLib thread alone.
    let pointer: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Holds an object of GObject's, one reference more than there were.
    convenience init(object pointer: UnsafeMutableRawPointer) {
        g_object_ref(pointer)
        self.init(owned: pointer) { g_object_unref($0) }
    }

    /// Takes over a reference.
    ///
    /// - Parameter release: called once, on the thread that lets go last.
    init(owned pointer: UnsafeMutableRawPointer, release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void) {
        self.pointer = pointer
        self.release = release
    }

    deinit {
        release(pointer)
    }

    /// The object as its C type.
    func cast<Object>(to type: Object.Type) -> UnsafeMutablePointer<Object> {
        pointer.assumingMemoryBound(to: type)
    }
}

/// Connects C functions to the signals of the library's objects.
enum Signal {
    /// - Parameters:
    ///   - handler: a C function of exactly the signal's type, by `unsafeBitCast`.
    ///   - receiver: what the function gets as its last argument. Not kept: ``disconnect(_:from:)`` must come before it goes.
    static func connect(
        _ name: String,
        of object: UnsafeMutableRawPointer,
        to receiver: AnyObject,
        _ handler: GCallback
    ) {
        let receiver = Unmanaged.passUnretained(receiver).toOpaque()
        g_signal_connect_data(object, name, handler, receiver, nil, GConnectFlags(rawValue: 0))
    }

    /// The object calls nothing of this receiver any more.
    static func disconnect(_ receiver: AnyObject, from object: UnsafeMutableRawPointer) {
        let receiver = Unmanaged.passUnretained(receiver).toOpaque()
        g_signal_handlers_disconnect_matched(object, G_SIGNAL_MATCH_DATA, 0, 0, nil, nil, receiver)
    }
}

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
