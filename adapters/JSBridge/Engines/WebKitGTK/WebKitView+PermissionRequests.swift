#if WebKitGTK
import CWebKitGTK

/// A signal handler whose second argument is the request. It returns whether it handled the request.
private typealias RequestHandler =
    @convention(c) (UnsafeMutablePointer<WebKitWebView>?, OpaquePointer?, gpointer?) -> gboolean

extension WebKitView {
    /// Refuses requests that no page is granted and, without a window, those that only a user could answer.
    func connectPermissionRequests() {
        connect(request: "permission-request", permissionRequested)
        connect(request: "query-permission-state", permissionQueried)
        connect(request: "show-notification", notificationRequested)
        typealias Started = @convention(c) (UnsafeMutablePointer<WebKitWebContext>?, OpaquePointer?, gpointer?) -> Void
        Signal.connect(
            "download-started",
            of: context,
            to: self,
            unsafeBitCast(downloadStarted as Started, to: GCallback.self)
        )
        guard isOffscreen else {
            connect(request: "script-dialog", dialogOpened)
            return connect(request: "print", dialogOpened)
        }
        connect(request: "script-dialog", dialogRequested)
        connect(request: "authenticate", authenticationRequested)
        connect(request: "run-file-chooser", fileChooserRequested)
        connect(request: "run-color-chooser", colorChooserRequested)
        connect(request: "print", printRequested)
        connect(request: "context-menu", contextMenuRequested)
    }

    private func connect(request name: String, _ handler: RequestHandler) {
        connect(name, unsafeBitCast(handler, to: GCallback.self))
    }
}

private func reportDenied(_ request: String, _ receiver: gpointer?) {
    guard let receiver else { return }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.denied(request) }
}

/// Denies camera, microphone, location, notifications, third-party cookies, pointer lock and similar permissions.
private func permissionRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    webkit_permission_request_deny(request)
    reportDenied("a permission", receiver)
    return 1
}

private func permissionQueried(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ query: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    webkit_permission_state_query_finish(query, WEBKIT_PERMISSION_STATE_DENIED)
    return 1
}

private func notificationRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ notification: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    reportDenied("a notification", receiver)
    return 1
}

/// Makes `alert`, `confirm` and `prompt` return immediately, as if the user had cancelled them.
private func dialogRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ dialog: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    if webkit_script_dialog_get_dialog_type(dialog) == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM {
        webkit_script_dialog_confirm_set_confirmed(dialog, 1)
        return 1
    }
    reportDenied("a dialog", receiver)
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

private func authenticationRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitAuthenticationRequest.self)
    webkit_authentication_request_cancel(object)
    reportDenied("a login for its server", receiver)
    return 1
}

private func fileChooserRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitFileChooserRequest.self)
    webkit_file_chooser_request_cancel(object)
    reportDenied("a file", receiver)
    return 1
}

private func colorChooserRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ request: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitColorChooserRequest.self)
    webkit_color_chooser_request_cancel(object)
    reportDenied("a colour", receiver)
    return 1
}

private func printRequested(
    _: UnsafeMutablePointer<WebKitWebView>?,
    _ operation: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
    reportDenied("printing", receiver)
    return 1
}

private func contextMenuRequested(
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
    reportDenied("a download", receiver)
}
#endif
