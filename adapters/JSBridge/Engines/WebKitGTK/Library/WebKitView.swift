#if WebKitGTK
import CWebKitGTK

/// A web view of the library with everything that is its own: window, context, content manager, settings. What it stores is
/// gone with it.
///
/// ``close()`` is to be called before it is let go.
@GLibThread
final class WebKitView {
    /// What a view is made with.
    struct Settings: Sendable {
        let display: WebViewDisplay
        let scripts: WebViewScripts
        let userAgentSuffix: String?
        /// Whether the processes of pages are shut in. Where the system does not allow it the library ends this process.
        let isSandboxed: Bool
    }

    let view: UnsafeMutablePointer<WebKitWebView>
    let manager: UnsafeMutablePointer<WebKitUserContentManager>
    let context: UnsafeMutablePointer<WebKitWebContext>
    let window: UnsafeMutablePointer<GtkWidget>
    let isOffscreen: Bool
    private(set) var rawHandlers: [RawHandler] = []
    var areRawHandlersOpen = false
    private(set) weak var listener: (any WebKitViewListener)?
    private(set) var isClosed = false

    init(_ settings: Settings, listener: any WebKitViewListener) {
        self.listener = listener
        context = WebKitView.makeContext(isSandboxed: settings.isSandboxed)
        manager = webkit_user_content_manager_new()
        let widget = WebKitView.makeWidget(context, manager)
        view = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: WebKitWebView.self)
        let size: (width: Int, height: Int)
        switch settings.display {
        case .offscreen(let width, let height):
            isOffscreen = true
            size = (width, height)
            window = gtk_offscreen_window_new()
        case .window(let width, let height):
            isOffscreen = false
            size = (width, height)
            window = gtk_window_new(GTK_WINDOW_TOPLEVEL)
        }
        OpenObjects.count(view: UnsafeMutableRawPointer(view).assumingMemoryBound(to: GObject.self))
        configure(settings)
        rawHandlers = settings.scripts.rawHandlers.map { RawHandler(name: $0, view: self) }
        add(settings.scripts)
        connectSignals()
        show(width: size.width, height: size.height)
    }

    /// Loads a URL, about which is asked first.
    func load(_ url: String) {
        guard !isClosed else { return }
        webkit_web_view_load_uri(view, url)
    }

    /// Ends the page's process, which is told as every end is.
    func endProcess() {
        guard !isClosed else { return }
        webkit_web_view_terminate_web_process(view)
    }

    /// What the window is called.
    func entitle(_ title: String) {
        guard !isClosed, !isOffscreen else { return }
        gtk_window_set_title(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), title)
    }

    /// Closes the page and lets go of everything; nothing is told any more. Any number of times.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        disconnectSignals()
        webkit_user_content_manager_remove_all_scripts(manager)
        // Takes the view with it, and that its page's process.
        gtk_widget_destroy(window)
        g_object_unref(view)
        g_object_unref(manager)
        g_object_unref(context)
    }

    // MARK: - Making

    private static func makeContext(isSandboxed: Bool) -> UnsafeMutablePointer<WebKitWebContext> {
        let data = webkit_website_data_manager_new_ephemeral()
        webkit_website_data_manager_set_tls_errors_policy(data, WEBKIT_TLS_ERRORS_POLICY_FAIL)
        let context = signalbox_web_context_new(data)
        g_object_unref(data)
        guard let context else { preconditionFailure("the library makes no context: it has ended the process before") }
        webkit_web_context_set_sandbox_enabled(context, isSandboxed ? 1 : 0)
        webkit_web_context_set_cache_model(context, WEBKIT_CACHE_MODEL_DOCUMENT_VIEWER)
        return context
    }

    private static func makeWidget(
        _ context: UnsafeMutablePointer<WebKitWebContext>,
        _ manager: UnsafeMutablePointer<WebKitUserContentManager>
    ) -> UnsafeMutablePointer<GtkWidget> {
        guard let widget = signalbox_web_view_new(context, manager) else {
            preconditionFailure("the library makes no view: it has ended the process before")
        }
        g_object_ref_sink(widget)
        return widget
    }

    private func configure(_ given: Settings) {
        guard let settings = webkit_web_view_get_settings(view) else { return }
        // A document that comes back from this cache would have no bridge: scripts at its start do not run again.
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
        if let suffix = given.userAgentSuffix, let agent = webkit_settings_get_user_agent(settings) {
            webkit_settings_set_user_agent(settings, "\(String(cString: agent)) \(suffix)")
        }
    }

    private func show(width: Int, height: Int) {
        let container = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkContainer.self)
        let widget = UnsafeMutableRawPointer(view).assumingMemoryBound(to: GtkWidget.self)
        gtk_container_add(container, widget)
        let shown = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(shown, Int32(width), Int32(height))
        if isOffscreen { gtk_widget_set_size_request(widget, Int32(width), Int32(height)) }
        gtk_widget_show_all(window)
    }
}
#endif
