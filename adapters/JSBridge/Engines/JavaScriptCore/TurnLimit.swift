#if JavaScriptCore
#if canImport(JavaScriptCore)
import JavaScriptCore

// The functions needed for these limits are private on Apple platforms.
extension ScriptContext {
    func watch(slice: Double) {}
    func terminateSoon() {}
    func callOnRejection(_ function: ScriptObject) {}
    func memoryInUse() -> ScriptMemory? { nil }
    func collectGarbage() {}
}
#else
import CJavaScriptCore

extension ScriptContext {
    /// Sets how much processor time, in seconds, JavaScript may use before JavaScriptCore calls the turn limit.
    func watch(slice: Double) {
        // The limit belongs to this context, which is released after the group.
        let pointer = Unmanaged.passUnretained(limit).toOpaque()
        JSContextGroupSetExecutionTimeLimit(group, slice, sliceUsed, pointer)
    }

    /// Makes JavaScriptCore call the turn limit as soon as JavaScript continues. Native functions use this to end the
    /// script that called them.
    func terminateSoon() {
        watch(slice: 0)
    }

    /// Registers a function that receives the promise and the reason for each rejection still unhandled after its turn.
    func callOnRejection(_ function: ScriptObject) {
        JSGlobalContextSetUnhandledRejectionCallback(reference, function.reference, nil)
    }

    /// Returns how much memory the objects use, or `nil` if JavaScriptCore does not report it. The time that this takes
    /// grows with the number of objects.
    func memoryInUse() -> ScriptMemory? {
        guard let statistics = JSGetMemoryUsageStatistics(reference),
            let size = number("heapSize", of: statistics), let capacity = number("heapCapacity", of: statistics)
        else { return nil }
        return ScriptMemory(sinceCollection: Int(max(size, capacity)), afterCollection: Int(size))
    }

    /// Frees unreachable objects immediately.
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
    // The library calls this function only once each time a limit is set.
    JSContextGroupSetExecutionTimeLimit(JSContextGetGroup(context), limit.slice, sliceUsed, pointer)
    return false
}
#endif

/// The memory used by a page's objects, in bytes.
struct ScriptMemory {
    /// The memory in use, including the heap's reserve and the objects that were freed since the last collection.
    let sinceCollection: Int
    /// The memory that was in use at the last collection.
    let afterCollection: Int
}

/// Limits the time and memory of a turn, and records whether JavaScript was ended. It is confined to the page's thread.
///
/// JavaScriptCore restarts its own count at each entry, and each microtask is an entry. It therefore calls this object
/// after every slice, and this object checks how much processor time the thread has used since the turn began.
final class TurnLimit {
    /// The length of a slice in seconds, which bounds how long it takes to end a running page.
    let slice: Double
    private let limit: Duration
    private let mustEnd: () -> Bool
    private var began = Duration.zero
    /// Whether JavaScript was ended since the last call to ``begin()``.
    private(set) var hasEnded = false
    /// Whether JavaScript was ended because the turn exceeded the time limit.
    private(set) var wasReached = false
    /// Whether JavaScript was ended because its objects exceeded the memory limit.
    private(set) var wasOverMemory = false
    /// A closure that returns whether the objects exceed the memory limit. It is called between slices.
    var isOverMemory: () -> Bool = { false }
    /// Whether this is the page's last turn, which must run even though the page is ending.
    var isLastTurn = false

    /// - Parameters:
    ///   - limit: The maximum processor time.
    ///   - mustEnd: A closure that returns whether the page must end. It is called between slices.
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

    /// Checks the limits after a slice.
    ///
    /// - Returns: Whether to end JavaScript.
    func sliceUsed() -> Bool {
        wasReached = ThreadTime.ofThisThread - began >= limit
        wasOverMemory = wasOverMemory || (!wasReached && !isLastTurn && isOverMemory())
        hasEnded = wasReached || wasOverMemory || (!isLastTurn && mustEnd())
        return hasEnded
    }
}

/// Checks a page's memory periodically. It is confined to the page's thread.
struct HeapWatch {
    private let limit: Int
    private var next: ContinuousClock.Instant?
    /// Whether JavaScript has run since the last check.
    private var isDue = false

    init(limit: Int) {
        self.limit = limit
    }

    mutating func scriptRan() {
        isDue = true
    }

    /// When to check next, or `nil` if no JavaScript has run since the last check.
    var nextCheck: ContinuousClock.Instant? { isDue ? next : nil }

    /// Returns whether the objects still exceed the limit after garbage has been freed.
    ///
    /// The check runs at most every 100 ms. The time that a check takes grows with the number of objects, so checks
    /// that would take more than a fiftieth of the time run less often, down to once a second.
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
#endif
