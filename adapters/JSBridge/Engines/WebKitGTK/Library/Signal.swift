#if WebKitGTK
import CWebKitGTK

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
#endif
