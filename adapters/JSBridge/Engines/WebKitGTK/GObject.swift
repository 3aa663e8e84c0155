#if WebKitGTK
import CWebKitGTK
import Synchronization

/// Holds a strong reference to a reference-counted object from the C libraries. Only the holder calls functions on the
/// object.
final class ForeignReference: @unchecked Sendable {
    // These libraries count references atomically, and the object is otherwise used only on the GLib thread.
    let pointer: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Retains a GObject.
    convenience init(object pointer: UnsafeMutableRawPointer) {
        g_object_ref(pointer)
        self.init(owned: pointer) { g_object_unref($0) }
    }

    /// Takes ownership of a reference.
    ///
    /// - Parameter release: A closure that is called once, on the thread that releases the last reference.
    init(owned pointer: UnsafeMutableRawPointer, release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void) {
        self.pointer = pointer
        self.release = release
    }

    deinit {
        release(pointer)
    }

    /// Returns the object as its C type.
    func cast<Object>(to type: Object.Type) -> UnsafeMutablePointer<Object> {
        pointer.assumingMemoryBound(to: type)
    }
}

/// Connects C functions to signals from the library's objects.
enum Signal {
    /// - Parameters:
    ///   - handler: A C function, converted with `unsafeBitCast`. Its type must match the signal exactly.
    ///   - receiver: The function's last argument. It is not retained, so call ``disconnect(_:from:)`` before releasing
    ///     it.
    static func connect(
        _ name: String,
        of object: UnsafeMutableRawPointer,
        to receiver: AnyObject,
        _ handler: GCallback
    ) {
        let receiver = Unmanaged.passUnretained(receiver).toOpaque()
        g_signal_connect_data(object, name, handler, receiver, nil, GConnectFlags(rawValue: 0))
    }

    /// Disconnects this receiver from all signals of the object.
    static func disconnect(_ receiver: AnyObject, from object: UnsafeMutableRawPointer) {
        let receiver = Unmanaged.passUnretained(receiver).toOpaque()
        g_signal_handlers_disconnect_matched(object, G_SIGNAL_MATCH_DATA, 0, 0, nil, nil, receiver)
    }
}

/// Counts the live objects of each kind, for tests that detect leaks. Safe to use from any thread.
struct OpenObjects: Sendable, Hashable {
    private static let counts = Mutex(OpenObjects())

    /// WebKitGTK's web views.
    var views = 0
    /// Policy requests that are waiting for an answer.
    var policyRequests = 0
    /// Promises in pages that are waiting for an answer.
    var replies = 0
    /// Results of scripts and snapshots that WebKitGTK has not reported yet.
    var callbacks = 0
    /// The pages of running engines.
    var pages = 0

    /// The current counts.
    static var now: OpenObjects { counts.withLock { $0 } }

    static func add(_ count: Int, to kind: WritableKeyPath<OpenObjects, Int>) {
        counts.withLock { $0[keyPath: kind] += count }
    }

    /// Counts a view until WebKitGTK destroys it.
    @GLibThread
    static func count(view: UnsafeMutablePointer<GObject>) {
        add(1, to: \.views)
        g_object_weak_ref(view, { _, _ in OpenObjects.add(-1, to: \.views) }, nil)
    }
}
#endif
