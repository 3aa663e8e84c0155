#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// The arguments of a call from JavaScript to a native function; valid during the call only.
struct NativeCall {
    let context: JSContextRef
    let arguments: UnsafeBufferPointer<JSValueRef?>

    /// A number, or `nil` when there is none at this place.
    func number(_ position: Int) -> Double? {
        guard let value = value(position), JSValueIsNumber(context, value) else { return nil }
        return JSValueToNumber(context, value, nil)
    }

    /// A text, or `nil` when there is none at this place.
    func text(_ position: Int) -> ScriptText? {
        guard let value = value(position), JSValueIsString(context, value) else { return nil }
        return ScriptText(owning: JSValueToStringCopy(context, value, nil))
    }

    private func value(_ position: Int) -> JSValueRef? {
        position < arguments.count ? arguments[position] : nil
    }
}
