import SignalboxCore

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

/// An object of JavaScript that is kept until its context is released.
struct ScriptObject {
    let reference: JSObjectRef
}

/// What a function of JavaScript is called with.
enum ScriptArgument {
    case undefined
    case null
    case number(Double)
    case text(String)
    /// Text in UTF-8 without a NUL, such as JSON.
    case utf8(Bytes)
    case value(ScriptValue)
    case object(ScriptObject)
}

/// A string of JavaScript, released with this value.
struct ScriptText: ~Copyable {
    let reference: JSStringRef

    /// Takes over a reference.
    init?(owning reference: JSStringRef?) {
        guard let reference else { return nil }
        self.reference = reference
    }

    init(_ text: String) {
        let units = Array(text.utf16)
        reference = JSStringCreateWithCharacters(units, units.count)
    }

    /// Text in UTF-8 without a NUL, as JSON is. `buffer` is used meanwhile.
    init(_ bytes: Bytes, by buffer: inout [CChar]) {
        buffer.removeAll(keepingCapacity: true)
        bytes.withUnsafeBytes { buffer.append(contentsOf: $0.lazy.map { CChar(bitPattern: $0) }) }
        buffer.append(0)
        reference = JSStringCreateWithUTF8CString(buffer)
    }

    deinit {
        JSStringRelease(reference)
    }

    /// The number of UTF-16 code units: at least a third of the bytes in UTF-8, and at most all of them.
    var length: Int { JSStringGetLength(reference) }

    /// The text, with U+FFFD for a surrogate that stands alone.
    func text(atMost limit: Int = .max) -> String {
        let units = UnsafeBufferPointer(start: JSStringGetCharactersPtr(reference), count: min(length, limit))
        return String(decoding: units, as: UTF16.self)
    }

    /// The text in UTF-8, or nothing when a surrogate stands alone.
    ///
    /// - Parameter body: gets the bytes, which are valid during the call only.
    func withUTF8<Result>(in buffer: inout [CChar], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let size = JSStringGetMaximumUTF8CStringSize(reference)
        if buffer.count < size { buffer = [CChar](repeating: 0, count: size) }
        return buffer.withUnsafeMutableBufferPointer { room in
            let written = JSStringGetUTF8CString(reference, room.baseAddress, room.count)
            return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<max(0, written - 1)]))
        }
    }
}
