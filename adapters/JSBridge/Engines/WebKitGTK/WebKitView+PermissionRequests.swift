#if WebKitGTK
import CWebKitGTK

/// A signal handler that takes the request as its second argument, and returns whether it handled the request.
private typealias RequestHandler =
    @Sendable @convention(c) (UnsafeMutablePointer<WebKitWebView>?, OpaquePointer?, gpointer?) -> gboolean

private typealias DownloadHandler =
    @Sendable @convention(c) (UnsafeMutablePointer<WebKitWebContext>?, OpaquePointer?, gpointer?) -> Void

extension WebKitView {
    /// Refuses requests that are never granted to pages and, without a window, requests that only a user could answer.
    func connectPermissionRequests() {
        // This signal covers camera, microphone, location, notifications, third-party cookies, pointer lock and similar
        // permissions.
        connect(request: "permission-request") { _, request, receiver in
            webkit_permission_request_deny(request)
            return deny("a permission", receiver)
        }
        connect(request: "query-permission-state") { _, query, _ in
            webkit_permission_state_query_finish(query, WEBKIT_PERMISSION_STATE_DENIED)
            return 1
        }
        connect(request: "show-notification") { _, _, receiver in deny("a notification", receiver) }
        Signal.connect("download-started", of: context, to: self, unsafeBitCast(downloadStarted, to: GCallback.self))
        guard isOffscreen else {
            connect(request: "script-dialog", dialogOpened)
            return connect(request: "print", dialogOpened)
        }
        connect(request: "script-dialog", dialogRequested)
        connect(request: "authenticate") { _, request, receiver in
            deny("a login for its server", receiver, request, webkit_authentication_request_cancel)
        }
        connect(request: "run-file-chooser") { _, request, receiver in
            deny("a file", receiver, request, webkit_file_chooser_request_cancel)
        }
        connect(request: "run-color-chooser") { _, request, receiver in
            deny("a colour", receiver, request, webkit_color_chooser_request_cancel)
        }
        connect(request: "print") { _, _, receiver in deny("printing", receiver) }
        connect(request: "context-menu") { _, _, _ in 1 }
    }

    private func connect(request name: String, _ handler: RequestHandler) {
        connect(name, unsafeBitCast(handler, to: GCallback.self))
    }
}

/// Notifies the page that a request was denied. Returns 1, so that WebKitGTK does not handle the request.
private func deny(_ request: String, _ receiver: gpointer?) -> gboolean {
    WebKitView.withPage(receiver) { $0.denied(request) }
    return 1
}

/// Cancels a request and notifies the page. See ``deny(_:_:)``.
private func deny<Request>(
    _ name: String,
    _ receiver: gpointer?,
    _ request: OpaquePointer?,
    _ cancel: (UnsafeMutablePointer<Request>?) -> Void
) -> gboolean {
    guard let request else { return 1 }
    cancel(UnsafeMutablePointer(request))
    return deny(name, receiver)
}

/// Makes `alert`, `confirm` and `prompt` return immediately, as if the user had cancelled them.
private let dialogRequested: RequestHandler = { _, dialog, receiver in
    if webkit_script_dialog_get_dialog_type(dialog) == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM {
        webkit_script_dialog_confirm_set_confirmed(dialog, 1)
        return 1
    }
    return deny("a dialog", receiver)
}

/// Notifies the page about the dialog. Returns 0, so that WebKitGTK shows the dialog.
private let dialogOpened: RequestHandler = { _, _, receiver in
    WebKitView.withPage(receiver) { $0.dialogOpened() }
    return 0
}

/// Cancels every download, whatever its cause.
private let downloadStarted: DownloadHandler = { _, download, receiver in
    guard let download else { return }
    webkit_download_cancel(UnsafeMutablePointer(download))
    _ = deny("a download", receiver)
}
#endif
