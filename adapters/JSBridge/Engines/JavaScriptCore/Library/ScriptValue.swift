#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// A value of JavaScript. It lives as long as it is on the page's thread's stack, where the engine looks for it: it must
/// not be kept anywhere else.
struct ScriptValue {
    let reference: JSValueRef
}

/// What a call into JavaScript came to.
enum ScriptResult {
    case returned(ScriptValue)
    case threw(ScriptValue)
}
