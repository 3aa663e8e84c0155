import CLibwebsockets
import Synchronization

/// Makes and ends contexts, one at a time: both touch state of the process without a lock.
enum ContextMaker {
    private static let hasSetUpTLS = Mutex(false)

    /// Also makes the process ignore SIGPIPE, as the library always does.
    static func make(_ info: inout lws_context_creation_info) -> OpaquePointer? {
        _ = LibraryLog.attached
        let address = hasSetUpTLS.withLock { hasSetUpTLS -> UInt in
            // Once per process: libwebsockets 4.1.6 gets itself a new place in OpenSSL's objects each time, and handshakes
            // under way in other contexts would look for their connection in the wrong one and fail.
            if !hasSetUpTLS { info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT) }
            let context = lws_create_context(&info)
            if context != nil { hasSetUpTLS = true }
            return UInt(bitPattern: context)
        }
        return OpaquePointer(bitPattern: address)
    }

    static func destroy(_ context: OpaquePointer) {
        let address = UInt(bitPattern: context)
        hasSetUpTLS.withLock { _ in lws_context_destroy(OpaquePointer(bitPattern: address)) }
    }
}
