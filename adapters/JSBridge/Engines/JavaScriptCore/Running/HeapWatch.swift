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
