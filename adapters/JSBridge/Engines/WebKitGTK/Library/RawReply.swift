#if WebKitGTK
import CWebKitGTK

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
