#if WebKitGTK
import CWebKitGTK

private typealias View = UnsafeMutablePointer<WebKitWebView>

extension WebKitView {
    func connectSignals() {
        typealias Changed = @convention(c) (View?, WebKitLoadEvent, gpointer?) -> Void
        typealias Failed =
            @convention(c) (
                View?, WebKitLoadEvent, UnsafePointer<gchar>?, UnsafeMutablePointer<GError>?, gpointer?
            ) -> gboolean
        typealias Decide =
            @convention(c) (
                View?, UnsafeMutablePointer<WebKitPolicyDecision>?, WebKitPolicyDecisionType, gpointer?
            ) -> gboolean
        typealias Create = @convention(c) (View?, OpaquePointer?, gpointer?) -> UnsafeMutablePointer<GtkWidget>?
        typealias Ended = @convention(c) (View?, WebKitWebProcessTerminationReason, gpointer?) -> Void
        typealias Notify = @convention(c) (View?, UnsafeMutablePointer<GParamSpec>?, gpointer?) -> Void
        typealias Delete = @convention(c) (UnsafeMutablePointer<GtkWidget>?, gpointer?, gpointer?) -> gboolean
        connect("load-changed", unsafeBitCast(loadChanged as Changed, to: GCallback.self))
        connect("load-failed", unsafeBitCast(loadFailed as Failed, to: GCallback.self))
        connect("decide-policy", unsafeBitCast(decidePolicy as Decide, to: GCallback.self))
        connect("create", unsafeBitCast(createView as Create, to: GCallback.self))
        connect("web-process-terminated", unsafeBitCast(processEnded as Ended, to: GCallback.self))
        connect("notify::title", unsafeBitCast(titleChanged as Notify, to: GCallback.self))
        Signal.connect("delete-event", of: window, to: self, unsafeBitCast(windowClosed as Delete, to: GCallback.self))
        connectWishes()
    }

    func connect(_ name: String, _ handler: GCallback) {
        Signal.connect(name, of: view, to: self, handler)
    }

    func disconnectSignals() {
        Signal.disconnect(self, from: view)
        Signal.disconnect(self, from: window)
        Signal.disconnect(self, from: context)
        Signal.disconnect(self, from: manager)
        for handler in rawHandlers { Signal.disconnect(handler, from: manager) }
    }
}

private func loadChanged(_ view: View?, _ event: WebKitLoadEvent, _ receiver: gpointer?) {
    guard let receiver, event == WEBKIT_LOAD_COMMITTED else { return }
    let url = webkit_web_view_get_uri(view).map { String(cString: $0) } ?? ""
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.committed(url) }
}

/// Its answer keeps the library from showing a page of its own about the fault.
private func loadFailed(
    _: View?,
    _ event: WebKitLoadEvent,
    _ url: UnsafePointer<gchar>?,
    _ error: UnsafeMutablePointer<GError>?,
    _ receiver: gpointer?
) -> gboolean {
    guard let receiver, let error else { return 1 }
    let url = url.map { String(cString: $0) } ?? ""
    let message = error.pointee.message.map { String(cString: $0) } ?? ""
    let isCancelled =
        error.pointee.domain == webkit_network_error_quark()
        && error.pointee.code == Int32(WEBKIT_NETWORK_ERROR_CANCELLED.rawValue)
    let isRefusal = error.pointee.domain == webkit_policy_error_quark() || isCancelled
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.loadFailed(url, message, isRefusal: isRefusal) }
    return 1
}

private func decidePolicy(
    _: View?,
    _ decision: UnsafeMutablePointer<WebKitPolicyDecision>?,
    _ type: WebKitPolicyDecisionType,
    _ receiver: gpointer?
) -> gboolean {
    guard let receiver, let decision else { return 1 }
    guard let reading = PolicyQuestion.Reading(decision, type) else {
        webkit_policy_decision_ignore(decision)
        return 1
    }
    guard !reading.isSettled else {
        webkit_policy_decision_use(decision)
        return 1
    }
    let kept = ForeignReference(object: decision)
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.asked(PolicyQuestion(kept, reading)) }
    return 1
}

/// A script opens a window, for which the library asks no policy. It gets none, and is not told what is loaded instead.
private func createView(
    _: View?,
    _ action: OpaquePointer?,
    _ receiver: gpointer?
) -> UnsafeMutablePointer<GtkWidget>? {
    guard let receiver, let action else { return nil }
    let reading = PolicyQuestion.Reading(action, opensWindow: true)
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.asked(PolicyQuestion(nil, reading)) }
    return nil
}

private func processEnded(_: View?, _ reason: WebKitWebProcessTerminationReason, _ receiver: gpointer?) {
    guard let receiver else { return }
    let words =
        switch reason {
        case WEBKIT_WEB_PROCESS_CRASHED: "it crashed"
        case WEBKIT_WEB_PROCESS_EXCEEDED_MEMORY_LIMIT: "it needed too much memory"
        default: "it was ended"
        }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.processEnded(words) }
}

private func titleChanged(_ view: View?, _: UnsafeMutablePointer<GParamSpec>?, _ receiver: gpointer?) {
    guard let receiver else { return }
    let title = webkit_web_view_get_title(view).map { String(cString: $0) }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.titleChanged(title) }
}

/// Its answer keeps GTK from destroying the window, which is the view's.
private func windowClosed(_: UnsafeMutablePointer<GtkWidget>?, _ event: gpointer?, _ receiver: gpointer?) -> gboolean {
    guard let receiver else { return 1 }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    GLibThread.assumeIsolated { view.listener?.windowClosed() }
    return 1
}
#endif
