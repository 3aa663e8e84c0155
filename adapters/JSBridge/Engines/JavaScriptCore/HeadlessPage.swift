#if JavaScriptCore
import AdapterSupport
import Logging
import SignalboxCore

/// Runs a page by evaluating its scripts, and then handling timers, answers and messages until the page ends. It is
/// confined to the page's thread.
final class HeadlessPage {
    private let run: PageRun
    let context: ScriptContext
    var timers = TimerQueue()
    var heap: HeapWatch
    private var functions: PageFunctions?
    private var buffer: [CChar] = []
    private var drainRounds = 0
    /// The maximum number of `drain` rounds after everything else has settled. The limit stops a page that makes
    /// another call in every round.
    private static let maximumDrainRounds = 100

    var configuration: JavaScriptCoreConfiguration { run.parts.configuration }
    var log: PageLog { run.parts.log }
    private var control: PageControl { run.parts.control }
    private var mailbox: PageMailbox { run.parts.mailbox }

    /// - Throws: `noResources` if JavaScriptCore has no memory left.
    init(_ run: PageRun) throws(JSBridgeError) {
        self.run = run
        let parts = run.parts
        heap = HeapWatch(limit: parts.configuration.heapLimit)
        let limit = TurnLimit(parts.configuration.executionTimeLimit) { parts.control.isClosing }
        guard let context = ScriptContext(limit: limit) else {
            throw JSBridgeError(
                .noResources,
                "there is not enough memory for a page",
                source: parts.configuration.source
            )
        }
        self.context = context
        limit.isOverMemory = { [unowned self] in isOverMemory }
        do throws(JSBridgeError) {
            functions = try PageFunctions(self)
        } catch {
            context.release()
            throw error
        }
    }

    /// Runs the page until it ends. If a limit is exceeded, the run fails with `executionTimeLimit` or `heapLimit`.
    func serve() {
        for script in configuration.scripts where !mustEnd && !control.isStopping {
            turn { context.evaluate(script.source, name: script.name) }
            run.submitAll()
        }
        while !mustEnd {
            deliver()
            if hasEnded { break }
            pause()
        }
        finish()
    }

    // MARK: - Turns

    /// Performs all pending work once.
    private func deliver() {
        guard let functions else { return }
        run.deliver { number, notice in
            if !mustEnd, notice.isForPage { turn { functions.notify(number, notice) } }
        }
        for message in mailbox.takeMessages() where !mustEnd { turn { functions.deliver(message) } }
        let now = ContinuousClock.now
        let last = timers.lastSerial
        while !mustEnd, let id = timers.take(dueAt: now, setBy: last) { turn { functions.fireTimer(id) } }
        run.submitAll()
        log.reportWithheld(at: now)
        if !mustEnd && heap.isOver(context, at: now) { failForMemory() }
    }

    /// Runs a piece of JavaScript and the microtasks that it queues.
    private func turn(_ work: () -> ScriptResult) {
        context.limit.begin()
        control.countTurn()
        if case .threw(let value) = work(), !context.limit.hasEnded, let functions {
            log.failed(functions.describe(value))
        }
        context.clearTermination()
        control.countTurn()
        heap.scriptRan()
        if context.limit.wasReached || control.hasOverrun {
            let error = JSBridgeError.overrun(configuration.executionTimeLimit, source: configuration.source)
            run.fail(error.code, error.detail)
        }
        if context.limit.wasOverMemory { failForMemory() }
    }

    /// Whether the page's objects exceed the memory limit. This is also checked during turns, because a single turn can
    /// exhaust the memory.
    private var isOverMemory: Bool {
        heap.scriptRan()
        return heap.isOver(context, at: .now)
    }

    private func failForMemory() {
        run.fail(
            .heapLimit,
            "the page's objects take more than \(configuration.heapLimit) bytes; raise the limit or keep fewer objects"
        )
    }

    private func pause() {
        var limit: Duration?
        if let next = [timers.nextDue(), heap.nextCheck].compactMap(\.self).min() { limit = max(.zero, next - .now) }
        // The page soon learns that its calls were refused, but a page that keeps calling is throttled.
        if run.hasRefused { limit = .milliseconds(1) }
        if log.hasWithheld { limit = min(limit ?? .seconds(1), .seconds(1)) }
        control.wake.wait(for: limit)
    }

    // MARK: - Ending

    /// Whether the page must end immediately.
    var mustEnd: Bool { control.isClosing || run.failure != nil }

    private var hasEnded: Bool {
        guard run.unsettled == 0 else { return false }
        if control.isStopping {
            drainRounds += 1
            return !run.hasRefused || drainRounds > HeadlessPage.maximumDrainRounds
        }
        return configuration.endsWhenIdle && timers.isEmpty && mailbox.isIdle
    }

    /// Settles the page's calls and releases its context.
    private func finish() {
        context.limit.isLastTurn = true
        context.watch(slice: context.limit.slice)
        run.isOpen = false
        turn { functions?.close() ?? .returned(context.undefined) }
        functions = nil
        context.release()
    }
}

extension HeadlessPage {
    /// Accepts a message from the script. This method blocks the script while the batch is full and the intake has no
    /// room.
    func post(_ handler: String?, _ json: borrowing ScriptText, number: UInt64, timeout: Double) {
        let limit = configuration.limits.bytes
        if json.length > limit {
            // A UTF-16 code unit takes at most three bytes.
            let beginning = Array(json.text(atMost: limit / 3).utf8)
            beginning.withUnsafeBytes { run.post(handler, $0, isCut: true, number: number, timeout: timeout) }
        } else {
            json.withUTF8(in: &buffer) { run.post(handler, $0, isCut: false, number: number, timeout: timeout) }
        }
        if run.isFull { run.submitAll() }
    }

    /// Finishes a call from the program with the page's answer.
    func answered(_ number: UInt64, _ kind: String, _ text: consuming ScriptText?) {
        let limit = configuration.limits.bytes
        // One unit more than the limit is enough to refuse an answer, because a unit takes at least one byte.
        let text = text?.text(atMost: kind == "returned" ? limit + 1 : PageCallError.longestDetail)
        let kind = PageAnswerKind(rawValue: kind)
        mailbox.finish(number, PageAnswer(kind, text.map { Bytes($0) }, detail: text ?? "", limit: limit))
    }

    /// Ends the script that called a native function if the page must end immediately.
    func endScriptIfClosing() {
        if control.isClosing && !context.limit.isLastTurn { context.terminateSoon() }
    }
}

/// A queue of timers, ordered by due time and then by order of registration. It has no side effects, because the caller
/// passes the time.
struct TimerQueue {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        let due: Instant
        let serial: UInt64
        let id: Int
    }

    /// A binary min-heap. Cancelled entries stay until they reach the front or outnumber the live timers.
    private var heap: [Entry] = []
    private var live: [Int: UInt64] = [:]
    private var serial: UInt64 = 0

    var isEmpty: Bool { live.isEmpty }

    /// Returns the due time of the next timer.
    mutating func nextDue() -> Instant? {
        dropCancelled()
        return heap.first?.due
    }

    /// Sets a timer, replacing any timer with the same identifier.
    mutating func schedule(_ id: Int, due: Instant) {
        serial += 1
        live[id] = serial
        heap.append(Entry(due: due, serial: serial, id: id))
        rise(from: heap.count - 1)
        if heap.count > 64 + 2 * live.count { compact() }
    }

    mutating func cancel(_ id: Int) {
        live[id] = nil
    }

    /// Takes the next timer that is due at `now` and was set no later than `last`. A timer that is set by another timer
    /// therefore waits for the next round.
    mutating func take(dueAt now: Instant, setBy last: UInt64) -> Int? {
        dropCancelled()
        guard let first = heap.first, first.due <= now, first.serial <= last else { return nil }
        removeFirst()
        live[first.id] = nil
        return first.id
    }

    /// The serial number of the most recently set timer.
    var lastSerial: UInt64 { serial }

    private mutating func dropCancelled() {
        while let first = heap.first, live[first.id] != first.serial { removeFirst() }
    }

    private mutating func compact() {
        let kept = heap.filter { live[$0.id] == $0.serial }
        heap = kept.sorted(by: TimerQueue.isEarlier)
    }

    private static func isEarlier(_ left: Entry, _ right: Entry) -> Bool {
        (left.due, left.serial) < (right.due, right.serial)
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0 {
            let above = (index - 1) / 2
            guard TimerQueue.isEarlier(heap[index], heap[above]) else { return }
            heap.swapAt(index, above)
            index = above
        }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var earliest = index
            for below in [2 * index + 1, 2 * index + 2] where below < heap.count {
                if TimerQueue.isEarlier(heap[below], heap[earliest]) { earliest = below }
            }
            guard earliest != index else { return }
            heap.swapAt(index, earliest)
            index = earliest
        }
    }
}
#endif
