#if WebKitGTK
import CWebKitGTK

extension WebKitView {
    /// Registers handlers and injects scripts. Call this method before the first page loads.
    func add(_ scripts: WebViewScripts) {
        connectMessages()
        webkit_user_content_manager_register_script_message_handler_in_world(
            manager,
            WebViewScripts.handler,
            WebViewScripts.world
        )
        openRawHandlers()
        // The library would treat an empty list as matching every page.
        let patterns = scripts.patterns.isEmpty ? ["signalbox-none://none/"] : scripts.patterns
        inject(scripts.relay, world: WebViewScripts.world, patterns: patterns)
        inject(scripts.page, world: nil, patterns: patterns)
        if let zoom = scripts.zoom { inject(zoom, world: WebViewScripts.world, atEnd: true, patterns: nil) }
    }

    /// Opens the handlers that bypass the bridge, unless they are already open.
    func openRawHandlers() {
        guard !areRawHandlersOpen else { return }
        areRawHandlersOpen = true
        for handler in rawHandlers {
            webkit_user_content_manager_register_script_message_handler_with_reply(manager, handler.name, nil)
        }
    }

    /// Closes the handlers that bypass the bridge, and discards messages that were already posted to them.
    func closeRawHandlers() {
        guard areRawHandlersOpen else { return }
        areRawHandlersOpen = false
        for handler in rawHandlers {
            webkit_user_content_manager_unregister_script_message_handler(manager, handler.name)
        }
    }

    private func inject(_ source: String, world: String?, atEnd: Bool = false, patterns: [String]?) {
        let time = atEnd ? WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_END : WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START
        let frames = WEBKIT_USER_CONTENT_INJECT_TOP_FRAME
        let texts = patterns.map { $0.map { g_strdup($0) } }
        defer { texts?.forEach { g_free($0) } }
        let list = texts.map { $0.map { UnsafePointer<gchar>($0) } + [nil] }
        let script =
            if let world {
                webkit_user_script_new_for_world(source, frames, time, world, list, nil)
            } else {
                webkit_user_script_new(source, frames, time, list, nil)
            }
        webkit_user_content_manager_add_script(manager, script)
        webkit_user_script_unref(script)
    }

    private func connectMessages() {
        let received = unsafeBitCast(messageReceived, to: GCallback.self)
        Signal.connect("script-message-received::\(WebViewScripts.handler)", of: manager, to: self, received)
        let raw = unsafeBitCast(rawMessageReceived, to: GCallback.self)
        for handler in rawHandlers {
            Signal.connect("script-message-with-reply-received::\(handler.name)", of: manager, to: handler, raw)
        }
    }
}

private typealias Manager = UnsafeMutablePointer<WebKitUserContentManager>
private typealias MessageHandler = @Sendable @convention(c) (Manager?, OpaquePointer?, gpointer?) -> Void
private typealias RawMessageHandler =
    @Sendable @convention(c) (Manager?, UnsafeMutablePointer<JSCValue>?, OpaquePointer?, gpointer?) -> gboolean

/// Receives a text from the private world. The bridge never posts a value of a different type.
private let messageReceived: MessageHandler = { _, result, receiver in
    guard let result, let value = webkit_javascript_result_get_js_value(result), jsc_value_is_string(value) != 0,
        let text = jsc_value_to_string(value)
    else { return }
    defer { g_free(text) }
    let string = String(cString: text)
    WebKitView.withPage(receiver) { $0.received(string) }
}

private let rawMessageReceived: RawMessageHandler = { _, value, reply, receiver in
    guard let receiver, let value, let reply, let context = jsc_value_get_context(value) else { return 0 }
    let handler = Unmanaged<RawHandler>.fromOpaque(receiver).takeUnretainedValue()
    let began = ThreadTime.ofThisThread
    let json = jsc_value_to_json(value, 0).map { text in
        defer { g_free(text) }
        return String(cString: text)
    }
    let post = RawPost(handler: handler.name, json: json, time: ThreadTime.ofThisThread - began)
    let kept = ForeignReference(owned: UnsafeMutableRawPointer(webkit_script_message_reply_ref(reply))) {
        webkit_script_message_reply_unref(OpaquePointer($0))
    }
    let contextReference = ForeignReference(object: context)
    GLibThread.assumeIsolated {
        handler.view?.page?.receivedRaw(post, RawReply(kept, context: contextReference))
    }
    return 1
}

/// A handler in the page's world. This object holds the handler's name, because WebKitGTK's signal does not report the
/// name.
@GLibThread
final class RawHandler {
    let name: String
    private(set) weak var view: WebKitView?

    init(name: String, view: WebKitView) {
        self.name = name
        self.view = view
    }
}

/// A message posted in the page's world, in any frame.
struct RawPost: Sendable {
    let handler: String
    /// The value, or `nil` for `undefined`.
    let json: String?
    /// The processor time spent reading the value.
    let time: Duration
}

/// The promise for a call from the page's world. It is settled exactly once: a promise that is released without being
/// settled is rejected.
@GLibThread
final class RawReply {
    private var reply: ForeignReference?
    private let context: ForeignReference

    /// - Parameters:
    ///   - reply: A `WebKitScriptMessageReply`.
    ///   - context: The `JSCContext` of the posted value.
    init(_ reply: ForeignReference, context: ForeignReference) {
        self.reply = reply
        self.context = context
        OpenObjects.add(1, to: \.replies)
    }

    isolated deinit {
        settle(.error("the page is gone"))
    }

    /// Settles the promise. This method has no effect if the promise has already been settled.
    func settle(_ answer: RawAnswer) {
        guard let reply else { return }
        self.reply = nil
        OpenObjects.add(-1, to: \.replies)
        let object = OpaquePointer(reply.pointer)
        switch answer {
        case .reply(let json):
            guard let value = jsc_value_new_from_json(context.cast(to: JSCContext.self), json) else {
                return webkit_script_message_reply_return_error_message(object, "the reply is not JSON")
            }
            webkit_script_message_reply_return_value(object, value)
            g_object_unref(value)
        case .error(let message):
            webkit_script_message_reply_return_error_message(object, message)
        }
    }
}
#endif
