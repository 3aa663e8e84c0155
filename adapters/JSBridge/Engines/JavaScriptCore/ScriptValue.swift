#if JavaScriptCore
import SignalboxCore

#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// A JavaScript value. It must stay on the stack of the page's thread, where the garbage collector can find it.
struct ScriptValue {
    let reference: JSValueRef
}

/// The result of a call into JavaScript.
enum ScriptResult {
    case returned(ScriptValue)
    case threw(ScriptValue)
}

/// A JavaScript object that is kept until its context is released.
struct ScriptObject {
    let reference: JSObjectRef
}

/// An argument of a JavaScript function.
enum ScriptArgument {
    case undefined
    case null
    case number(Double)
    case text(String)
    /// UTF-8 text without NUL, such as JSON.
    case utf8(Bytes)
    case value(ScriptValue)
    case object(ScriptObject)
}

/// A JavaScript string that is released with this value.
struct ScriptText: ~Copyable {
    let reference: JSStringRef

    /// Takes ownership of a reference.
    init?(owning reference: JSStringRef?) {
        guard let reference else { return nil }
        self.reference = reference
    }

    init(_ text: String) {
        let units = Array(text.utf16)
        reference = JSStringCreateWithCharacters(units, units.count)
    }

    /// Creates a string from UTF-8 text without NUL, such as JSON, with `buffer` as temporary storage.
    init(_ bytes: Bytes, by buffer: inout [CChar]) {
        buffer.removeAll(keepingCapacity: true)
        bytes.withUnsafeBytes { buffer.append(contentsOf: $0.lazy.map { CChar(bitPattern: $0) }) }
        buffer.append(0)
        reference = JSStringCreateWithUTF8CString(buffer)
    }

    deinit {
        JSStringRelease(reference)
    }

    /// The number of UTF-16 code units. It is never greater than the UTF-8 length in bytes, and never less than a third
    /// of it.
    var length: Int { JSStringGetLength(reference) }

    /// Returns the text, with each unpaired surrogate replaced by U+FFFD.
    func text(atMost limit: Int = .max) -> String {
        let units = UnsafeBufferPointer(start: JSStringGetCharactersPtr(reference), count: min(length, limit))
        return String(decoding: units, as: UTF16.self)
    }

    /// Calls a closure with the text as UTF-8, or with no bytes if the text contains an unpaired surrogate.
    ///
    /// - Parameter body: A closure that receives the bytes, which are valid only during the call.
    func withUTF8<Result>(in buffer: inout [CChar], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let size = JSStringGetMaximumUTF8CStringSize(reference)
        if buffer.count < size { buffer = [CChar](repeating: 0, count: size) }
        return buffer.withUnsafeMutableBufferPointer { room in
            let written = JSStringGetUTF8CString(reference, room.baseAddress, room.count)
            return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<max(0, written - 1)]))
        }
    }
}
#endif
