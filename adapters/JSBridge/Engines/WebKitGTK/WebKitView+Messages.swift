#if WebKitGTK
import CWebKitGTK

extension WebKitView {
    /// Registers handlers and puts scripts in, before the first page.
    func add(_ scripts: WebViewScripts) {
        connectMessages()
        webkit_user_content_manager_register_script_message_handler_in_world(
            manager,
            WebViewScripts.handler,
            WebViewScripts.world
        )
        openRawHandlers()
        // Without an entry the library would take every page.
        let patterns = scripts.patterns.isEmpty ? ["signalbox-none://none/"] : scripts.patterns
        inject(scripts.relay, world: WebViewScripts.world, patterns: patterns)
        inject(scripts.page, world: nil, patterns: patterns)
        if let zoom = scripts.zoom { inject(zoom, world: WebViewScripts.world, atEnd: true, patterns: nil) }
    }

    /// Lets pages post past the bridge, unless they may already.
    func openRawHandlers() {
        guard !areRawHandlersOpen else { return }
        areRawHandlersOpen = true
        for handler in rawHandlers {
            webkit_user_content_manager_register_script_message_handler_with_reply(manager, handler.name, nil)
        }
    }

    /// What pages post past the bridge is not taken any more, nor what they have posted already.
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
        typealias Received =
            @convention(c) (
                UnsafeMutablePointer<WebKitUserContentManager>?, OpaquePointer?, gpointer?
            ) -> Void
        let received = unsafeBitCast(messageReceived as Received, to: GCallback.self)
        Signal.connect("script-message-received::\(WebViewScripts.handler)", of: manager, to: self, received)
        typealias ReceivedRaw =
            @convention(c) (
                UnsafeMutablePointer<WebKitUserContentManager>?, UnsafeMutablePointer<JSCValue>?, OpaquePointer?,
                gpointer?
            ) -> gboolean
        let raw = unsafeBitCast(rawMessageReceived as ReceivedRaw, to: GCallback.self)
        for handler in rawHandlers {
            Signal.connect("script-message-with-reply-received::\(handler.name)", of: manager, to: handler, raw)
        }
    }
}

/// A text of the private world; anything but a text is none of ours.
private func messageReceived(
    _: UnsafeMutablePointer<WebKitUserContentManager>?,
    _ result: OpaquePointer?,
    _ receiver: gpointer?
) {
    guard let receiver, let result, let value = webkit_javascript_result_get_js_value(result),
        jsc_value_is_string(value) != 0, let text = jsc_value_to_string(value)
    else { return }
    defer { g_free(text) }
    let view = Unmanaged<WebKitView>.fromOpaque(receiver).takeUnretainedValue()
    let string = String(cString: text)
    GLibThread.assumeIsolated { view.listener?.received(string) }
}

private func rawMessageReceived(
    _: UnsafeMutablePointer<WebKitUserContentManager>?,
    _ value: UnsafeMutablePointer<JSCValue>?,
    _ reply: OpaquePointer?,
    _ receiver: gpointer?
) -> gboolean {
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
    let home = ForeignReference(object: context)
    GLibThread.assumeIsolated {
        handler.view?.listener?.receivedRaw(post, RawReply(kept, context: home))
    }
    return 1
}

/// One name that pages can post to in their own world; the library's signal does not tell it.
@GLibThread
final class RawHandler {
    let name: String
    private(set) weak var view: WebKitView?

    init(name: String, view: WebKitView) {
        self.name = name
        self.view = view
    }
}

/// What was posted in the page's world, from whatever frame.
struct RawPost: Sendable {
    let handler: String
    /// `nil` for `undefined`.
    let json: String?
    /// How much processor time it took to be read.
    let time: Duration
}

/// The promise of a page-world call, settled exactly once: whoever lets go of it has rejected it.
@GLibThread
final class RawReply {
    private var reply: ForeignReference?
    private let context: ForeignReference

    /// - Parameters:
    ///   - reply: a `WebKitScriptMessageReply`.
    ///   - context: the `JSCContext` of the value that was posted.
    init(_ reply: ForeignReference, context: ForeignReference) {
        self.reply = reply
        self.context = context
        OpenObjects.add(1, to: \.replies)
    }

    isolated deinit {
        settle(.error("the page is gone"))
    }

    /// Settles the promise; nothing happens when it was before.
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
