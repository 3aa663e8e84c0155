#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// An object of JavaScript that is kept until its context is released.
struct ScriptObject {
    let reference: JSObjectRef
}
