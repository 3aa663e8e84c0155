#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// A function of the program that JavaScript calls. Its object in JavaScript points here, so the context that made it
/// keeps it as long as anything can call it.
final class NativeFunction {
    private let body: (NativeCall) -> Void

    init(_ body: @escaping (NativeCall) -> Void) {
        self.body = body
    }

    /// A class whose objects are such functions; to be released.
    static func makeClass() -> JSClassRef? {
        var definition = JSClassDefinition()
        definition.callAsFunction = nativeFunctionCalled
        return JSClassCreate(&definition)
    }

    fileprivate func call(_ call: NativeCall) {
        body(call)
    }
}

private func nativeFunctionCalled(
    context: JSContextRef?,
    function: JSObjectRef?,
    this: JSObjectRef?,
    count: Int,
    arguments: UnsafePointer<JSValueRef?>?,
    exception: UnsafeMutablePointer<JSValueRef?>?
) -> JSValueRef? {
    guard let context, let pointer = JSObjectGetPrivate(function) else { return nil }
    let native = Unmanaged<NativeFunction>.fromOpaque(pointer).takeUnretainedValue()
    native.call(NativeCall(context: context, arguments: UnsafeBufferPointer(start: arguments, count: count)))
    return JSValueMakeUndefined(context)
}
