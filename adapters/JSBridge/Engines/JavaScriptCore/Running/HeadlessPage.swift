import AdapterThreads
import Logging
import SignalboxCore

/// One run of a page: its scripts, then timers, answers and messages, until it ends. Belongs to the page's thread.
final class HeadlessPage {
    /// What a page is made of.
    struct Parts {
        let configuration: JavaScriptCoreConfiguration
        let control: PageControl
        let mailbox: PageMailbox
        let handle: PageHandle
        let intake: any Intake
        let log: PageLog
    }

    let configuration: JavaScriptCoreConfiguration
    let control: PageControl
    let mailbox: PageMailbox
    let log: PageLog
    let context: ScriptContext
    let calls: PageCalls
    var timers = TimerQueue()
    var heap: HeapWatch
    private(set) var functions: PageFunctions?
    private var settlements: [(token: UInt64, outcome: Outcome)] = []
    private var failure: JSBridgeError?
    private var drainRounds = 0
    /// How often a page that calls again when it is answered `drain` is answered, once nothing else is left to wait for.
    private static let mostDrainRounds = 100

    /// - Throws: `noResources` when the library has no memory.
    init(_ parts: Parts) throws(JSBridgeError) {
        configuration = parts.configuration
        control = parts.control
        mailbox = parts.mailbox
        log = parts.log
        calls = PageCalls(parts)
        heap = HeapWatch(limit: parts.configuration.heapLimit)
        let limit = TurnLimit(parts.configuration.executionTimeLimit) { [control] in control.isClosing }
        guard let context = ScriptContext(limit: limit) else {
            throw JSBridgeError(.noResources, "no memory for a page", source: parts.configuration.source)
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

    /// Runs the page to its end.
    ///
    /// - Throws: `executionTimeLimit` and `heapLimit`, after everything it submitted is settled.
    func run() throws(JSBridgeError) {
        for script in configuration.scripts where !mustEnd && !control.isStopping {
            turn { context.evaluate(script.source, name: script.name) }
            calls.submit()
        }
        while !mustEnd {
            deliver()
            if hasEnded { break }
            pause()
        }
        finish()
        if let failure { throw failure }
    }

    // MARK: - Turns

    /// Whatever is there to be done, once.
    private func deliver() {
        let answers = calls.takeRefused()
        control.exchange(&settlements)
        for (token, outcome) in settlements where calls.settle(token) && !mustEnd { tell(token, outcome) }
        settlements.removeAll(keepingCapacity: true)
        for number in answers where !mustEnd { tell(number, .abandoned(.drain)) }
        for message in mailbox.takeMessages() where !mustEnd { receive(message) }
        let now = ContinuousClock.now
        let last = timers.lastSerial
        while !mustEnd, let id = timers.take(dueAt: now, setBy: last) { fire(id) }
        calls.submit()
        log.tellWithheld(at: now)
        if !mustEnd && heap.isOver(context, at: now) { failForMemory() }
    }

    /// Runs JavaScript, and the microtasks it leaves.
    func turn(_ work: () -> ScriptResult) {
        context.limit.begin()
        control.countTurn()
        if case .threw(let value) = work(), !context.limit.hasEnded, let functions {
            log.failed(functions.describe(value))
        }
        context.forgetEnding()
        control.countTurn()
        heap.scriptRan()
        if context.limit.wasReached || control.hasOverrun {
            let error = JSBridgeError.overrun(configuration.executionTimeLimit, source: configuration.source)
            fail(error.code, error.detail)
        }
        if context.limit.wasOverMemory { failForMemory() }
    }

    /// Checked within a turn too, as a single turn can take all the memory there is.
    private var isOverMemory: Bool {
        heap.scriptRan()
        return heap.isOver(context, at: .now)
    }

    private func failForMemory() {
        fail(
            .heapLimit,
            "its objects take more than \(configuration.heapLimit) bytes; raise the limit or keep less"
        )
    }

    private func pause() {
        var limit: Duration?
        if let next = [timers.nextDue(), heap.nextLook].compactMap(\.self).min() { limit = max(.zero, next - .now) }
        // What was refused is told at once, but not to a page that tries again and again.
        if calls.hasRefused { limit = .milliseconds(1) }
        if log.hasWithheld { limit = min(limit ?? .seconds(1), .seconds(1)) }
        control.wake.wait(for: limit)
    }

    // MARK: - The end

    /// The page ends now.
    var mustEnd: Bool { control.isClosing || failure != nil }

    private func fail(_ code: JSBridgeError.Code, _ detail: String) {
        if failure == nil { failure = JSBridgeError(code, detail, source: configuration.source) }
    }

    private var hasEnded: Bool {
        guard calls.unsettled == 0 else { return false }
        if control.isStopping {
            drainRounds += 1
            return !calls.hasRefused || drainRounds > HeadlessPage.mostDrainRounds
        }
        return configuration.endsWhenIdle && timers.isEmpty && mailbox.isIdle
    }

    /// Settles what the page still waits for, lets it go, and waits until the program has settled what it submitted.
    private func finish() {
        context.limit.isLastTurn = true
        context.watch(slice: context.limit.slice)
        calls.isOpen = false
        turn { functions?.close() ?? .returned(context.undefined) }
        functions = nil
        mailbox.detach(control, hasFailed: failure != nil)
        context.release()
        log.tellWithheld(isLast: true)
        while calls.unsettled > 0 {
            control.exchange(&settlements)
            for (token, _) in settlements { _ = calls.settle(token) }
            settlements.removeAll(keepingCapacity: true)
            if calls.unsettled > 0 { control.wake.wait(for: nil) }
        }
    }
}
