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

/// What a page's objects take, in bytes.
struct ScriptMemory {
    /// With what was freed since the last collection, and what the heap keeps ready.
    let sinceCollection: Int
    /// As the last collection found it.
    let afterCollection: Int
}

/// Bounds how long JavaScript may run, and how much memory it may take, before it gives the thread back; says whether it was
/// ended. Belongs to the page's thread.
///
/// The engine counts from each entry, and each microtask is one; so it is asked to come back after a slice of the time, and
/// what counts is what the thread has used since the turn began.
final class TurnLimit {
    /// One slice, in seconds: how late a page that runs hears that it ends.
    let slice: Double
    private let limit: Duration
    private let mustEnd: () -> Bool
    private var began = Duration.zero
    /// Whether JavaScript was ended since the last ``begin()``.
    private(set) var hasEnded = false
    /// Whether it was because the turn lasted too long.
    private(set) var wasReached = false
    /// Whether it was because its objects took too much memory.
    private(set) var wasOverMemory = false
    /// Whether the objects take too much memory; asked between slices.
    var isOverMemory: () -> Bool = { false }
    /// The page's last turn is not ended by what ended the page.
    var isLastTurn = false

    /// - Parameters:
    ///   - limit: processor time.
    ///   - mustEnd: asked between slices.
    init(_ limit: Duration, mustEnd: @escaping () -> Bool) {
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18
        slice = min(seconds, 0.02)
        self.limit = limit
        self.mustEnd = mustEnd
    }

    func begin() {
        began = ThreadTime.ofThisThread
        hasEnded = false
        wasReached = false
        wasOverMemory = false
    }

    /// Called after each slice.
    ///
    /// - Returns: whether JavaScript ends now.
    func sliceUsed() -> Bool {
        wasReached = ThreadTime.ofThisThread - began >= limit
        wasOverMemory = wasOverMemory || (!wasReached && !isLastTurn && isOverMemory())
        hasEnded = wasReached || wasOverMemory || (!isLastTurn && mustEnd())
        return hasEnded
    }
}

/// Looks at a page's memory now and then. Belongs to the page's thread.
struct HeapWatch {
    private let limit: Int
    private var next: ContinuousClock.Instant?
    /// JavaScript has run since the last look.
    private var isDue = false

    init(limit: Int) {
        self.limit = limit
    }

    mutating func scriptRan() {
        isDue = true
    }

    /// When to look next, or `nil` when nothing can have changed.
    var nextLook: ContinuousClock.Instant? { isDue ? next : nil }

    /// Whether the objects need more than the limit; what can be freed is freed first.
    ///
    /// Looks every 100 ms at most, and less often, down to once a second, where looking takes more than a fiftieth of the
    /// time: its cost grows with the number of objects.
    mutating func isOver(_ context: ScriptContext, at now: ContinuousClock.Instant) -> Bool {
        guard isDue else { return false }
        guard let due = next else {
            next = now + .milliseconds(100)
            return false
        }
        guard now >= due else { return false }
        isDue = false
        let isOver = HeapWatch.needs(more: limit, context)
        let end = ContinuousClock.now
        next = end + min(max(.milliseconds(100), (end - now) * 50), .seconds(1))
        return isOver
    }

    private static func needs(more limit: Int, _ context: ScriptContext) -> Bool {
        guard let memory = context.memoryInUse(), memory.sinceCollection > limit else { return false }
        context.collectGarbage()
        return context.memoryInUse().map { $0.afterCollection > limit } ?? false
    }
}
