#if WebKitGTK
import CWebKitGTK

/// A web view with its own window, context, content manager and settings. Its storage is deleted when the view is
/// closed.
///
/// The owner must call ``close()`` before releasing the view.
@GLibThread
final class WebKitView {
    let view: UnsafeMutablePointer<WebKitWebView>
    let manager: UnsafeMutablePointer<WebKitUserContentManager>
    let context: UnsafeMutablePointer<WebKitWebContext>
    let window: UnsafeMutablePointer<GtkWidget>
    let isOffscreen: Bool
    private(set) var rawHandlers: [RawHandler] = []
    var areRawHandlersOpen = false
    /// The page to notify about the view's events. The page must not close the view during such a notification.
    private(set) weak var page: WebKitPage?
    private(set) var isClosed = false

    /// - Parameter isSandboxed: Whether pages run in sandboxed processes. If the system cannot sandbox them, WebKitGTK
    ///   ends this process.
    init(_ configuration: WebViewConfiguration, isSandboxed: Bool, page: WebKitPage) {
        self.page = page
        context = WebKitView.makeContext(isSandboxed: isSandboxed)
        manager = webkit_user_content_manager_new()
        let widget = WebKitView.makeWidget(context, manager)
        view = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: WebKitWebView.self)
        isOffscreen = configuration.display.isOffscreen
        window = isOffscreen ? gtk_offscreen_window_new() : gtk_window_new(GTK_WINDOW_TOPLEVEL)
        OpenObjects.count(view: UnsafeMutableRawPointer(view).assumingMemoryBound(to: GObject.self))
        configure(userAgentSuffix: configuration.page.userAgentSuffix)
        let scripts = WebViewScripts(configuration)
        rawHandlers = scripts.rawHandlers.map { RawHandler(name: $0, view: self) }
        add(scripts)
        connectSignals()
        show(configuration.display.size)
    }

    /// Loads a URL, subject to a navigation verdict.
    func load(_ url: String) {
        guard !isClosed else { return }
        webkit_web_view_load_uri(view, url)
    }

    /// Terminates the page's process. The view then calls ``WebKitPage/processEnded(_:)``.
    func terminateProcess() {
        guard !isClosed else { return }
        webkit_web_view_terminate_web_process(view)
    }

    /// Sets the window's title.
    func setTitle(_ title: String) {
        guard !isClosed, !isOffscreen else { return }
        gtk_window_set_title(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), title)
    }

    /// Closes the page and releases all objects, after which the page receives no notifications. Calling this method
    /// again has no effect.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        disconnectSignals()
        webkit_user_content_manager_remove_all_scripts(manager)
        // This call also destroys the view, and with it the page's process.
        gtk_widget_destroy(window)
        g_object_unref(view)
        g_object_unref(manager)
        g_object_unref(context)
    }

    // MARK: - Creation

    private static func makeContext(isSandboxed: Bool) -> UnsafeMutablePointer<WebKitWebContext> {
        let data = webkit_website_data_manager_new_ephemeral()
        webkit_website_data_manager_set_tls_errors_policy(data, WEBKIT_TLS_ERRORS_POLICY_FAIL)
        let context = signalbox_web_context_new(data)
        g_object_unref(data)
        guard let context else { preconditionFailure("the library created no context") }
        webkit_web_context_set_sandbox_enabled(context, isSandboxed ? 1 : 0)
        webkit_web_context_set_cache_model(context, WEBKIT_CACHE_MODEL_DOCUMENT_VIEWER)
        return context
    }

    private static func makeWidget(
        _ context: UnsafeMutablePointer<WebKitWebContext>,
        _ manager: UnsafeMutablePointer<WebKitUserContentManager>
    ) -> UnsafeMutablePointer<GtkWidget> {
        guard let widget = signalbox_web_view_new(context, manager) else {
            preconditionFailure("the library created no view")
        }
        g_object_ref_sink(widget)
        return widget
    }

    private func configure(userAgentSuffix: String?) {
        guard let settings = webkit_web_view_get_settings(view) else { return }
        // A document restored from this cache would have no bridge, because scripts do not run again at document start.
        webkit_settings_set_enable_page_cache(settings, 0)
        webkit_settings_set_enable_developer_extras(settings, 0)
        webkit_settings_set_enable_write_console_messages_to_stdout(settings, 0)
        webkit_settings_set_allow_file_access_from_file_urls(settings, 0)
        webkit_settings_set_allow_universal_access_from_file_urls(settings, 0)
        webkit_settings_set_allow_top_navigation_to_data_urls(settings, 0)
        webkit_settings_set_javascript_can_access_clipboard(settings, 0)
        webkit_settings_set_javascript_can_open_windows_automatically(settings, 0)
        webkit_settings_set_enable_media_stream(settings, 0)
        webkit_settings_set_disable_web_security(settings, 0)
        if isOffscreen {
            webkit_settings_set_hardware_acceleration_policy(settings, WEBKIT_HARDWARE_ACCELERATION_POLICY_NEVER)
        }
        if let suffix = userAgentSuffix, let agent = webkit_settings_get_user_agent(settings) {
            webkit_settings_set_user_agent(settings, "\(String(cString: agent)) \(suffix)")
        }
    }

    private func show(_ size: (width: Int, height: Int)) {
        let container = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkContainer.self)
        let widget = UnsafeMutableRawPointer(view).assumingMemoryBound(to: GtkWidget.self)
        gtk_container_add(container, widget)
        let shown = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(shown, Int32(size.width), Int32(size.height))
        if isOffscreen { gtk_widget_set_size_request(widget, Int32(size.width), Int32(size.height)) }
        gtk_widget_show_all(window)
    }
}

private typealias View = UnsafeMutablePointer<WebKitWebView>
private typealias LoadHandler = @Sendable @convention(c) (View?, WebKitLoadEvent, gpointer?) -> Void
private typealias FailureHandler =
    @Sendable @convention(c) (
        View?, WebKitLoadEvent, UnsafePointer<gchar>?, UnsafeMutablePointer<GError>?, gpointer?
    ) -> gboolean
private typealias PolicyHandler =
    @Sendable @convention(c) (
        View?, UnsafeMutablePointer<WebKitPolicyDecision>?, WebKitPolicyDecisionType, gpointer?
    ) -> gboolean
private typealias CreationHandler =
    @Sendable @convention(c) (View?, OpaquePointer?, gpointer?) -> UnsafeMutablePointer<GtkWidget>?
private typealias TerminationHandler =
    @Sendable @convention(c) (View?, WebKitWebProcessTerminationReason, gpointer?) -> Void
private typealias PropertyHandler =
    @Sendable @convention(c) (View?, UnsafeMutablePointer<GParamSpec>?, gpointer?) -> Void
private typealias DeletionHandler =
    @Sendable @convention(c) (UnsafeMutablePointer<GtkWidget>?, gpointer?, gpointer?) -> gboolean

extension WebKitView {
    /// Calls a closure with the page of the view that received a signal. Does nothing if the view or the page is gone.
    nonisolated static func withPage(_ receiver: gpointer?, _ body: @GLibThread (WebKitPage) -> Void) {
        guard let receiver else { return }
        let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
        GLibThread.assumeIsolated {
            if let page = view.page { body(page) }
        }
    }

    func connectSignals() {
        connect("load-changed", unsafeBitCast(loadChanged, to: GCallback.self))
        connect("load-failed", unsafeBitCast(loadFailed, to: GCallback.self))
        connect("decide-policy", unsafeBitCast(decidePolicy, to: GCallback.self))
        connect("create", unsafeBitCast(createView, to: GCallback.self))
        connect("web-process-terminated", unsafeBitCast(processEnded, to: GCallback.self))
        connect("notify::title", unsafeBitCast(titleChanged, to: GCallback.self))
        Signal.connect("delete-event", of: window, to: self, unsafeBitCast(windowClosed, to: GCallback.self))
        connectPermissionRequests()
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

private let loadChanged: LoadHandler = { view, event, receiver in
    guard event == WEBKIT_LOAD_COMMITTED else { return }
    let url = webkit_web_view_get_uri(view).map { String(cString: $0) } ?? ""
    WebKitView.withPage(receiver) { $0.committed(url) }
}

/// Returns 1, which prevents WebKitGTK from showing an error page.
private let loadFailed: FailureHandler = { _, _, _, error, receiver in
    guard let error else { return 1 }
    let message = error.pointee.message.map { String(cString: $0) } ?? ""
    let isCancelled =
        error.pointee.domain == webkit_network_error_quark()
        && error.pointee.code == Int32(WEBKIT_NETWORK_ERROR_CANCELLED.rawValue)
    let isRefusal = error.pointee.domain == webkit_policy_error_quark() || isCancelled
    WebKitView.withPage(receiver) { $0.loadFailed(message, isRefusal: isRefusal) }
    return 1
}

private let decidePolicy: PolicyHandler = { _, decision, type, receiver in
    guard let decision else { return 1 }
    guard let reading = PolicyRequest.Reading(decision, type) else {
        webkit_policy_decision_ignore(decision)
        return 1
    }
    guard !reading.isSettled else {
        webkit_policy_decision_use(decision)
        return 1
    }
    let kept = ForeignReference(object: decision)
    WebKitView.withPage(receiver) { $0.policyRequested(PolicyRequest(kept, reading)) }
    return 1
}

/// Handles a script's request for a window, for which WebKitGTK does not ask for a policy decision. The script receives
/// neither a window nor any information about the page that loads instead.
private let createView: CreationHandler = { _, action, receiver in
    guard let action else { return nil }
    let reading = PolicyRequest.Reading(action, opensWindow: true)
    WebKitView.withPage(receiver) { $0.policyRequested(PolicyRequest(nil, reading)) }
    return nil
}

private let processEnded: TerminationHandler = { _, reason, receiver in
    let cause =
        switch reason {
        case WEBKIT_WEB_PROCESS_CRASHED: "it crashed"
        case WEBKIT_WEB_PROCESS_EXCEEDED_MEMORY_LIMIT: "it exceeded its memory limit"
        default: "it was terminated"
        }
    WebKitView.withPage(receiver) { $0.processEnded(cause) }
}

private let titleChanged: PropertyHandler = { view, _, receiver in
    let title = webkit_web_view_get_title(view).map { String(cString: $0) }
    WebKitView.withPage(receiver) { $0.titleChanged(title) }
}

/// Returns 1, which prevents GTK from destroying the view's window.
private let windowClosed: DeletionHandler = { _, _, receiver in
    WebKitView.withPage(receiver) { $0.windowClosed() }
    return 1
}
#endif
