#if JavaScriptCore
#if canImport(JavaScriptCore)
import JavaScriptCore
#else
import CJavaScriptCore
#endif

/// A JavaScript global scope with its own heap, confined to one thread.
///
/// The owner must call ``release()``. After that, the context's texts, kept objects and native functions are invalid.
final class ScriptContext {
    let group: JSContextGroupRef
    let reference: JSGlobalContextRef
    private let functionClass: JSClassRef
    private var natives: [NativeFunction] = []
    private var kept: [JSObjectRef] = []
    private var buffer: [CChar] = []
    let limit: TurnLimit

    /// - Returns: `nil` if JavaScriptCore has no memory for the context.
    init?(limit: TurnLimit) {
        guard let group = JSContextGroupCreate() else { return nil }
        guard let functionClass = NativeFunction.makeClass() else {
            JSContextGroupRelease(group)
            return nil
        }
        guard let context = JSGlobalContextCreateInGroup(group, nil) else {
            JSClassRelease(functionClass)
            JSContextGroupRelease(group)
            return nil
        }
        self.group = group
        self.functionClass = functionClass
        self.limit = limit
        reference = context
        watch(slice: limit.slice)
    }

    /// Releases the scope. When this method returns, all finalizers have run and nothing refers to this object any
    /// longer.
    func release() {
        for object in kept { JSValueUnprotect(reference, object) }
        kept = []
        JSGlobalContextRelease(reference)
        JSContextGroupRelease(group)
        JSClassRelease(functionClass)
        natives = []
    }

    // MARK: - Calling JavaScript

    /// Runs a script. The `sourceURL` of errors that the script throws is the script's name.
    func evaluate(_ source: String, name: String) -> ScriptResult {
        let script = ScriptText(source)
        let url = ScriptText(name)
        var exception: JSValueRef?
        let value = JSEvaluateScript(reference, script.reference, nil, url.reference, 1, &exception)
        return result(value, exception)
    }

    /// Calls a function with at most five arguments.
    func call(_ function: ScriptObject, _ arguments: ScriptArgument...) -> ScriptResult {
        // The arguments are kept on the stack, because the garbage collector does not scan an array's storage.
        withUnsafeTemporaryAllocation(of: JSValueRef?.self, capacity: 5) { room in
            var count = 0
            for argument in arguments.prefix(5) {
                room.initializeElement(at: count, to: make(argument))
                count += 1
            }
            var exception: JSValueRef?
            let value = JSObjectCallAsFunction(
                reference,
                function.reference,
                nil,
                count,
                room.baseAddress,
                &exception
            )
            return result(value, exception)
        }
    }

    /// Makes JavaScript callable again after a script was ended. Otherwise, ending a microtask would also end the next
    /// call.
    func clearTermination() {
        if limit.hasEnded { _ = evaluate("0", name: "") }
    }

    var undefined: ScriptValue { ScriptValue(reference: JSValueMakeUndefined(reference)) }

    private func result(_ value: JSValueRef?, _ exception: JSValueRef?) -> ScriptResult {
        if let exception { return .threw(ScriptValue(reference: exception)) }
        return .returned(ScriptValue(reference: value ?? JSValueMakeUndefined(reference)))
    }

    func make(_ argument: ScriptArgument) -> JSValueRef? {
        switch argument {
        case .undefined: JSValueMakeUndefined(reference)
        case .null: JSValueMakeNull(reference)
        case .number(let number): JSValueMakeNumber(reference, number)
        case .text(let text): make(ScriptText(text))
        case .utf8(let bytes): make(ScriptText(bytes, by: &buffer))
        case .value(let value): value.reference
        case .object(let object): object.reference
        }
    }

    private func make(_ text: borrowing ScriptText) -> JSValueRef? {
        JSValueMakeString(reference, text.reference)
    }

    // MARK: - Objects

    /// Keeps a value's object until the context is released. Returns `nil` if the value is not an object.
    func keep(_ value: ScriptValue) -> ScriptObject? {
        guard JSValueIsObject(reference, value.reference) else { return nil }
        let object = JSValueToObject(reference, value.reference, nil)
        guard let object else { return nil }
        JSValueProtect(reference, object)
        kept.append(object)
        return ScriptObject(reference: object)
    }

    /// Creates an empty object and keeps it.
    func makeObject() -> ScriptObject? {
        JSObjectMake(reference, nil, nil).flatMap { keep(ScriptValue(reference: $0)) }
    }

    /// Returns an object's member and keeps it.
    func member(_ name: String, of object: ScriptObject) -> ScriptObject? {
        let name = ScriptText(name)
        let value = JSObjectGetProperty(reference, object.reference, name.reference, nil)
        return value.flatMap { keep(ScriptValue(reference: $0)) }
    }

    func set(_ name: String, of object: ScriptObject, to argument: ScriptArgument) {
        let name = ScriptText(name)
        JSObjectSetProperty(reference, object.reference, name.reference, make(argument), 0, nil)
    }

    /// Adds a member function that calls the program.
    ///
    /// - Parameter body: A closure that is called on this thread, from within JavaScript. It is released with the
    ///   context.
    func set(_ name: String, of object: ScriptObject, calling body: @escaping (NativeCall) -> Void) {
        let native = NativeFunction(body)
        natives.append(native)
        let function = JSObjectMake(reference, functionClass, Unmanaged.passUnretained(native).toOpaque())
        guard let function else { return }
        set(name, of: object, to: .value(ScriptValue(reference: function)))
    }

    /// Returns the text of a string, or `nil` if the value is not a string.
    func text(of value: ScriptValue, atMost limit: Int) -> String? {
        guard JSValueIsString(reference, value.reference) else { return nil }
        return ScriptText(owning: JSValueToStringCopy(reference, value.reference, nil))?.text(atMost: limit)
    }
}

/// A function in the program that JavaScript can call. The JavaScript object for the function points to this object, so
/// the context retains this object for as long as the function can be called.
final class NativeFunction {
    fileprivate let body: (NativeCall) -> Void

    init(_ body: @escaping (NativeCall) -> Void) {
        self.body = body
    }

    /// Creates the class for the JavaScript objects that represent native functions. The caller must release it.
    static func makeClass() -> JSClassRef? {
        var definition = JSClassDefinition()
        definition.callAsFunction = nativeFunctionCalled
        return JSClassCreate(&definition)
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
    native.body(NativeCall(context: context, arguments: UnsafeBufferPointer(start: arguments, count: count)))
    return JSValueMakeUndefined(context)
}

/// The arguments of a call from JavaScript to a native function, valid only during the call.
struct NativeCall {
    let context: JSContextRef
    let arguments: UnsafeBufferPointer<JSValueRef?>

    /// Returns the number at a position, or `nil` if the argument is missing or is not a number.
    func number(_ position: Int) -> Double? {
        guard let value = value(position), JSValueIsNumber(context, value) else { return nil }
        return JSValueToNumber(context, value, nil)
    }

    /// Returns the text at a position, or `nil` if the argument is missing or is not a string.
    func text(_ position: Int) -> ScriptText? {
        guard let value = value(position), JSValueIsString(context, value) else { return nil }
        return ScriptText(owning: JSValueToStringCopy(context, value, nil))
    }

    private func value(_ position: Int) -> JSValueRef? {
        position < arguments.count ? arguments[position] : nil
    }
}
#endif
