#if WebKitGTK
import CWebKitGTK

/// A signal handler whose second argument is the request. It returns whether it handled the request.
private typealias RequestHandler =
    @Sendable @convention(c) (UnsafeMutablePointer<WebKitWebView>?, OpaquePointer?, gpointer?) -> gboolean

private typealias DownloadHandler =
    @Sendable @convention(c) (UnsafeMutablePointer<WebKitWebContext>?, OpaquePointer?, gpointer?) -> Void

extension WebKitView {
    /// Refuses requests that no page is granted and, without a window, those that only a user could answer.
    func connectPermissionRequests() {
        connect(request: "permission-request", permissionRequested)
        connect(request: "query-permission-state", permissionQueried)
        connect(request: "show-notification", notificationRequested)
        let started = unsafeBitCast(downloadStarted, to: GCallback.self)
        Signal.connect("download-started", of: context, to: self, started)
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
    WebKitView.withListener(receiver) { $0.denied(request) }
}

/// Denies camera, microphone, location, notifications, third-party cookies, pointer lock and similar permissions.
private let permissionRequested: RequestHandler = { _, request, receiver in
    webkit_permission_request_deny(request)
    reportDenied("a permission", receiver)
    return 1
}

private let permissionQueried: RequestHandler = { _, query, _ in
    webkit_permission_state_query_finish(query, WEBKIT_PERMISSION_STATE_DENIED)
    return 1
}

private let notificationRequested: RequestHandler = { _, _, receiver in
    reportDenied("a notification", receiver)
    return 1
}

/// Makes `alert`, `confirm` and `prompt` return immediately, as if the user had cancelled them.
private let dialogRequested: RequestHandler = { _, dialog, receiver in
    if webkit_script_dialog_get_dialog_type(dialog) == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM {
        webkit_script_dialog_confirm_set_confirmed(dialog, 1)
        return 1
    }
    reportDenied("a dialog", receiver)
    return 1
}

/// Notifies the listener and returns 0, which lets the library show the dialog.
private let dialogOpened: RequestHandler = { _, _, receiver in
    WebKitView.withListener(receiver) { $0.dialogOpened() }
    return 0
}

private let authenticationRequested: RequestHandler = { _, request, receiver in
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitAuthenticationRequest.self)
    webkit_authentication_request_cancel(object)
    reportDenied("a login for its server", receiver)
    return 1
}

private let fileChooserRequested: RequestHandler = { _, request, receiver in
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitFileChooserRequest.self)
    webkit_file_chooser_request_cancel(object)
    reportDenied("a file", receiver)
    return 1
}

private let colorChooserRequested: RequestHandler = { _, request, receiver in
    guard let request else { return 1 }
    let object = UnsafeMutableRawPointer(request).assumingMemoryBound(to: WebKitColorChooserRequest.self)
    webkit_color_chooser_request_cancel(object)
    reportDenied("a colour", receiver)
    return 1
}

private let printRequested: RequestHandler = { _, _, receiver in
    reportDenied("printing", receiver)
    return 1
}

private let contextMenuRequested: RequestHandler = { _, _, _ in
    1
}

/// Cancels every download, regardless of its cause.
private let downloadStarted: DownloadHandler = { _, download, receiver in
    guard let download else { return }
    let object = UnsafeMutableRawPointer(download).assumingMemoryBound(to: WebKitDownload.self)
    webkit_download_cancel(object)
    reportDenied("a download", receiver)
}
#endif
