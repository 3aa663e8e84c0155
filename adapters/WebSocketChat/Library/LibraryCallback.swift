import CLibwebsockets

// libwebsockets calls these on the service's thread, inside its loop's pass, and inside creating and destroying a context.
// The context's user data is the `LibraryLoop`, which its thread keeps until the context is destroyed. All pointers are
// valid during the call only. They are global functions because a closure literal would take over the isolation of the
// type it is written in.

func libraryCalled(
    _ handle: OpaquePointer?,
    _ reason: lws_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    guard let handle, let context = lws_get_context(handle), let owner = lws_context_user(context) else { return 0 }
    return Unmanaged<LibraryLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef { loop in
        loop.called(handle, reason, user, input, length)
    }
}

// OpenSSL calls it inside the library's calls.
func libraryHeardAlert(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
    guard let connection, clws_is_fault(place, value) != 0 else { return }
    LibraryLoop.owner(ofAlertOn: connection)?.alert = (SSL_get_fd(connection), LibraryText.alert(value))
}

func libraryTimerFired(_ owner: UnsafeMutableRawPointer?) {
    guard let owner else { return }
    Unmanaged<LibraryTimer>.fromOpaque(owner).takeUnretainedValue().fired()
}

func libraryLogged(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    guard let line else { return }
    LibraryLog.logged(level: level, line)
}
