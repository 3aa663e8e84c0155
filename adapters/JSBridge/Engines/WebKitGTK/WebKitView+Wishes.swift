#if WebKitGTK
import CWebKitGTK

/// A signal handler whose second argument is the request. It returns whether it handled the request.
private typealias Wish = @convention(c) (UnsafeMutablePointer<WebKitWebView>?, OpaquePointer?, gpointer?) -> gboolean

extension WebKitView {
    /// Refuses requests that no page is granted and, without a window, those that only a user could answer.
    func connectWishes() {
        connect(wish: "permission-request", permissionWanted)
        connect(wish: "query-permission-state", permissionLookedAt)
        connect(wish: "show-notification", notificationWanted)
        typealias Started = @convention(c) (UnsafeMutablePointer<WebKitWebContext>?, OpaquePointer?, gpointer?) -> Void
        Signal.connect(
            "download-started",
            of: context,
            to: self,
            unsafeBitCast(downloadStarted as Started, to: GCallback.self)
        )
        guard isOffscreen else {
            connect(wish: "script-dialog", dialogOpened)
            return connect(wish: "print", dialogOpened)
        }
        connect(wish: "script-dialog", dialogWanted)
        connect(wish: "authenticate", passwordWanted)
        connect(wish: "run-file-chooser", fileWanted)
        connect(wish: "run-color-chooser", colorWanted)
        connect(wish: "print", printWanted)
        connect(wish: "context-menu", menuWanted)
    }

    private func connect(wish name: String, _ handler: Wish) {
        connect(name, unsafeBitCast(handler, to: GCallback.self))
    }
}

private func refuse(_ wish: String, _ receiver: gpointer?) {
    guard let receiver else { return }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.refused(wish) }
}

/// Denies camera, microphone, location, notifications, third-party cookies, pointer lock and similar permissions.
private func permissionWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    webkit_permission_request_deny(request)
    refuse("a permission", receiver)
    return 1
}

private func permissionLookedAt(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ query: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    webkit_permission_state_query_finish(query, WEBKIT_PERMISSION_STATE_DENIED)
    return 1
}

private func notificationWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ notification: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    refuse("to show a notification", receiver)
    return 1
}

/// Makes `alert`, `confirm` and `prompt` return immediately, as if the user had cancelled them.
private func dialogWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ dialog: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    if webkit_script_dialog_get_dialog_type(dialog) == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM {
        webkit_script_dialog_confirm_set_confirmed(dialog, 1)
        return 1
    }
    refuse("to show a dialog", receiver)
    return 1
}

/// Notifies the listener and returns 0, which lets the library show the dialog.
private func dialogOpened(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ dialog: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let receiver else { return 0 }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.dialogOpened() }
    return 0
}

private func passwordWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitAuthenticationRequest.self)
    webkit_authentication_request_cancel(object)
    refuse("a password for its server", receiver)
    return 1
}

private func fileWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitFileChooserRequest.self)
    webkit_file_chooser_request_cancel(object)
    refuse("a file", receiver)
    return 1
}

private func colorWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitColorChooserRequest.self)
    webkit_color_chooser_request_cancel(object)
    refuse("a colour", receiver)
    return 1
}

private func printWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ operation: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    refuse("to print", receiver)
    return 1
}

private func menuWanted(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ menu: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    1
}

/// Cancels every download, regardless of its cause.
private func downloadStarted(
    _: UnsafeMutablePointer<WebKitWebContext>?,
    _ download: OpaquePointer?,
    _ receiver: gpointer?
) {
    guard let download else { return }
    let object = UnsafeMutableRawPointer(download).assumingMemoryBound(to: WebKitDownload.self)
    webkit_download_cancel(object)
    refuse("to store something", receiver)
}
#endif
