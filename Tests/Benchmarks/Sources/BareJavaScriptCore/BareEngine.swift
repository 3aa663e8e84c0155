import CJavaScriptCoreLibrary

/// The engine with two native functions, `post` and `ask`, as the baseline for a bridge. Does not parse messages.
public final class BareEngine {
    private let context: JSGlobalContextRef
    private let hear: ((UnsafeRawBufferPointer) -> Void)?
    /// The total length of the received texts, in bytes.
    public private(set) var bytes = 0
    /// The number of received messages.
    public private(set) var messages = 0

    /// - Parameter hear: Receives the text of each message as NUL-terminated UTF-8, valid only during the call.
    public init(hear: ((UnsafeRawBufferPointer) -> Void)? = nil) {
        self.hear = hear
        context = JSGlobalContextCreate(nil)
        bareEngine = self
        add("post", didPost)
        add("ask", didAsk)
    }

    deinit {
        JSGlobalContextRelease(context)
    }

    /// Runs a script and the jobs that it leaves.
    public func run(_ script: String) {
        let source = JSStringCreateWithUTF8CString(script)
        var exception: JSValueRef?
        _ = JSEvaluateScript(context, source, nil, nil, 1, &exception)
        JSStringRelease(source)
        precondition(exception == nil, "the benchmark's script threw")
    }

    private func add(_ name: String, _ function: @escaping JSObjectCallAsFunctionCallback) {
        let key = JSStringCreateWithUTF8CString(name)
        let value = JSObjectMakeFunctionWithCallback(context, key, function)
        JSObjectSetProperty(context, JSContextGetGlobalObject(context), key, value, 0, nil)
        JSStringRelease(key)
    }

    /// Copies the text out of the engine, as every bridge must.
    fileprivate func take(_ value: JSValueRef?, _ context: JSContextRef?) {
        let text = JSValueToStringCopy(context, value, nil)
        withUnsafeTemporaryAllocation(byteCount: JSStringGetMaximumUTF8CStringSize(text), alignment: 1) { room in
            let start = room.baseAddress?.assumingMemoryBound(to: CChar.self)
            let length = JSStringGetUTF8CString(text, start, room.count)
            bytes += length
            hear?(UnsafeRawBufferPointer(rebasing: room[..<length]))
        }
        JSStringRelease(text)
        messages += 1
    }
}

// A C callback captures nothing. The benchmark has one engine at a time, on one thread.
nonisolated(unsafe) private var bareEngine: BareEngine?

private func didPost(
    context: JSContextRef?,
    function: JSObjectRef?,
    this: JSObjectRef?,
    count: Int,
    arguments: UnsafePointer<JSValueRef?>?,
    exception: UnsafeMutablePointer<JSValueRef?>?
) -> JSValueRef? {
    bareEngine?.take(arguments?[0], context)
    return JSValueMakeUndefined(context)
}

/// Returns a promise that is already resolved.
private func didAsk(
    context: JSContextRef?,
    function: JSObjectRef?,
    this: JSObjectRef?,
    count: Int,
    arguments: UnsafePointer<JSValueRef?>?,
    exception: UnsafeMutablePointer<JSValueRef?>?
) -> JSValueRef? {
    bareEngine?.take(arguments?[0], context)
    var resolve: JSObjectRef?
    let promise = JSObjectMakeDeferredPromise(context, &resolve, nil, nil)
    let text = JSStringCreateWithUTF8CString(#"{"total":129900}"#)
    var answer = JSValueMakeFromJSONString(context, text)
    JSStringRelease(text)
    _ = JSObjectCallAsFunction(context, resolve, nil, 1, &answer, nil)
    return promise
}
