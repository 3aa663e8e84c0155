#if canImport(JavaScriptCore)
import JavaScriptCore

// The calls are private there.
extension ScriptContext {
    func watch(slice: Double) {}
    func endSoon() {}
    func callOnRejection(_ function: ScriptObject) {}
    func memoryInUse() -> ScriptMemory? { nil }
    func collectGarbage() {}
}
#else
import CJavaScriptCore

extension ScriptContext {
    /// Has the turn limit asked after each slice of processor time, in seconds.
    func watch(slice: Double) {
        // The limit belongs to this object, which is released after the group.
        let pointer = Unmanaged.passUnretained(limit).toOpaque()
        JSContextGroupSetExecutionTimeLimit(group, slice, sliceUsed, pointer)
    }

    /// Has the turn limit asked as soon as JavaScript goes on; for a native function.
    func endSoon() {
        watch(slice: 0)
    }

    /// Calls the function with a promise that was rejected, and the reason, when nobody looked at it in the same turn.
    func callOnRejection(_ function: ScriptObject) {
        JSGlobalContextSetUnhandledRejectionCallback(reference, function.reference, nil)
    }

    /// What the objects take, or `nil` when the library does not say. Its cost grows with the number of objects.
    func memoryInUse() -> ScriptMemory? {
        guard let statistics = JSGetMemoryUsageStatistics(reference),
            let size = number("heapSize", of: statistics), let capacity = number("heapCapacity", of: statistics)
        else { return nil }
        return ScriptMemory(sinceCollection: Int(max(size, capacity)), afterCollection: Int(size))
    }

    /// Frees what nothing points to, now.
    func collectGarbage() {
        JSSynchronousGarbageCollectForDebugging(reference)
    }

    private func number(_ name: String, of object: JSObjectRef) -> Double? {
        let name = ScriptText(name)
        guard let value = JSObjectGetProperty(reference, object, name.reference, nil), JSValueIsNumber(reference, value)
        else { return nil }
        return JSValueToNumber(reference, value, nil)
    }
}

private func sliceUsed(context: JSContextRef?, pointer: UnsafeMutableRawPointer?) -> Bool {
    guard let pointer else { return false }
    let limit = Unmanaged<TurnLimit>.fromOpaque(pointer).takeUnretainedValue()
    if limit.sliceUsed() { return true }
    // The library does not ask again by itself.
    JSContextGroupSetExecutionTimeLimit(JSContextGetGroup(context), limit.slice, sliceUsed, pointer)
    return false
}
#endif
