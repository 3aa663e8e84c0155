#if WebKitGTK
import CWebKitGTK

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
#endif
