#if canImport(JavaScriptCore)
import JavaScriptCore

// The functions that this requires are private on Apple platforms.
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
    /// Sets the slice of processor time, in seconds, after which the library calls the turn limit.
    func watch(slice: Double) {
        // The limit belongs to this object, which is released after the group.
        let pointer = Unmanaged.passUnretained(limit).toOpaque()
        JSContextGroupSetExecutionTimeLimit(group, slice, sliceUsed, pointer)
    }

    /// Makes the library call the turn limit as soon as JavaScript continues; for native functions.
    func terminateSoon() {
        watch(slice: 0)
    }

    /// Registers a function that receives the promise and reason of each rejection still unhandled after its turn.
    func callOnRejection(_ function: ScriptObject) {
        JSGlobalContextSetUnhandledRejectionCallback(reference, function.reference, nil)
    }

    /// Returns the memory of the objects, or `nil` if the library does not report it. The cost grows with their number.
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
    // The library does not repeat the call by itself.
    JSContextGroupSetExecutionTimeLimit(JSContextGetGroup(context), limit.slice, sliceUsed, pointer)
    return false
}
#endif

/// The memory of a page's objects, in bytes.
struct ScriptMemory {
    /// The memory including objects freed since the last collection and the heap's reserve.
    let sinceCollection: Int
    /// The memory that the last collection found in use.
    let afterCollection: Int
}

/// The time and memory limit of a turn. It records whether JavaScript was ended. Confined to the page's thread.
///
/// The engine restarts its own count at each entry, and each microtask is an entry. The library therefore calls this
/// limit after each slice, and the limit compares the thread's processor time since the turn began.
final class TurnLimit {
    /// The length of a slice in seconds, which bounds the delay until a running page ends.
    let slice: Double
    private let limit: Duration
    private let mustEnd: () -> Bool
    private var began = Duration.zero
    /// Whether JavaScript was ended since the last ``begin()``.
    private(set) var hasEnded = false
    /// Whether it ended because the turn exceeded the time limit.
    private(set) var wasReached = false
    /// Whether it ended because its objects exceeded the memory limit.
    private(set) var wasOverMemory = false
    /// Returns whether the objects exceed the memory limit; called between slices.
    var isOverMemory: () -> Bool = { false }
    /// Whether this is the page's last turn, which the cause of the page's end must not end.
    var isLastTurn = false

    /// - Parameters:
    ///   - limit: The maximum processor time.
    ///   - mustEnd: A closure that returns whether the page must end; called between slices.
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

/// A periodic check of a page's memory. Confined to the page's thread.
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

    /// The time of the next check, or `nil` if nothing can have changed.
    var nextCheck: ContinuousClock.Instant? { isDue ? next : nil }

    /// Returns whether the objects exceed the limit after garbage is freed.
    ///
    /// Checks at most every 100 ms, and down to once a second if checks would take more than a fiftieth of the time.
    /// The cost of a check grows with the number of objects.
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
