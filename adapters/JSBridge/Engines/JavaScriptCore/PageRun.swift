import AdapterSupport
import SignalboxCore

/// A run of a headless page in this process or another one. It holds the calls without an outcome, the batch to submit
/// next, and the failure of the run. It is confined to the thread of the page.
final class PageRun {
    /// The dependencies of a run.
    struct Parts {
        let configuration: JavaScriptCoreConfiguration
        let control: PageControl
        let mailbox: PageMailbox
        let handle: PageHandle
        let intake: any Intake
        let log: PageLog
    }

    let parts: Parts
    private let origin: Origin
    private var batch: PageBatch
    /// The arrivals for which the intake had no room.
    private var waiting: ArraySlice<Arrival> = []
    private var inFlight: Set<UInt64> = []
    private var refused: [UInt64] = []
    private var settlements: [(token: UInt64, outcome: Outcome)] = []
    private var lastHandler: (text: String, envelope: Envelope)?
    /// Whether messages are accepted. This is `false` in the last turn of the page.
    var isOpen = true
    private(set) var failure: JSBridgeError?

    /// The size in bytes at which a batch is submitted even if it has fewer messages than the maximum.
    private static let batchBytes = 1_048_576

    private var control: PageControl { parts.control }

    init(_ parts: Parts) {
        self.parts = parts
        batch = PageBatch(limits: parts.configuration.limits)
        let facts = ScriptFacts(engine: "JavaScriptCore", isMainFrame: .yes)
        origin = Origin(source: parts.configuration.source, facts: facts)
    }

    /// The number of messages that are submitted or batched and have no outcome yet.
    var unsettled: Int { inFlight.count }

    /// Whether the page still has to be notified of refused messages.
    var hasRefused: Bool { !refused.isEmpty }

    /// Whether the batch must be submitted before the page may send more messages.
    var isFull: Bool {
        !waiting.isEmpty || batch.count >= parts.configuration.batchMessages || batch.byteCount >= PageRun.batchBytes
    }

    // MARK: - Outcomes

    /// Passes on the outcomes that were received since the last call, and `abandoned(drain)` for messages that were
    /// refused.
    func deliver(_ tell: (UInt64, Outcome) -> Void) {
        let refused = refused
        self.refused = []
        control.exchange(&settlements)
        for (token, outcome) in settlements where inFlight.remove(token) != nil { tell(token, outcome) }
        settlements.removeAll(keepingCapacity: true)
        for number in refused { tell(number, .abandoned(.drain)) }
    }

    // MARK: - Ending

    /// Records the failure that ends the page, unless the page already has one.
    func fail(_ code: JSBridgeError.Code, _ detail: String) {
        if failure == nil { failure = JSBridgeError(code, detail, source: parts.configuration.source) }
    }

    /// Ends the run of a page that takes no more work, and waits until everything that was submitted has settled.
    ///
    /// - Throws: The failure of the run.
    func end() throws(JSBridgeError) {
        parts.mailbox.detach(control, hasFailed: failure != nil)
        parts.log.reportWithheld(isLast: true)
        deliver { _, _ in }
        while unsettled > 0 {
            control.wake.wait(for: nil)
            deliver { _, _ in }
        }
        if let failure { throw failure }
    }

    // MARK: - Messages

    /// Accepts a message from the page. A number whose earlier message has no outcome yet is ignored.
    ///
    /// - Parameters:
    ///   - handler: The handler to which the message was posted, or `nil` for a standard envelope.
    ///   - isCut: Whether the bytes are only the beginning of a message that is too long.
    ///   - timeout: The time from the call to its deadline, in milliseconds, or 0 for no deadline.
    func post(_ handler: String?, _ json: UnsafeRawBufferPointer, isCut: Bool, number: UInt64, timeout: Double) {
        guard isOpen, !control.isClosing else { return }
        guard !control.isStopping else { return refused.append(number) }
        guard inFlight.insert(number).inserted else { return }
        let envelope = isCut ? batch.tooLong : handler.map(envelope) ?? .success(.standard)
        batch.append(json, as: envelope, token: number, origin: origin, sender: parts.handle, timeout: timeout)
    }

    private func envelope(of handler: String) -> Result<Envelope, Outcome.Rejection> {
        if let lastHandler, lastHandler.text == handler { return .success(lastHandler.envelope) }
        do throws(NameError) {
            let envelope = Envelope.handler(try ActionName(handler))
            lastHandler = (handler, envelope)
            return .success(envelope)
        } catch {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name is not an action name: \(error)"))
        }
    }

    // MARK: - Submission

    /// Submits as much as the intake has room for, and requests room for the rest. This method never blocks.
    ///
    /// - Parameter isLast: Whether to refuse the rest instead of waiting for room.
    func submit(isLast: Bool = false) {
        if waiting.isEmpty {
            guard batch.count > 0 else { return }
            waiting = batch.take()[...]
            control.expect(waiting.count)
        } else if !isLast {
            guard !mustRefuse else { return refuseWaiting() }
            switch control.bridge.room.answer {
            case .unknown: return
            case .free: break
            case .closed: return refuseWaiting()
            }
        }
        waiting = waiting.dropFirst(parts.intake.take(Array(waiting), to: control))
        guard !waiting.isEmpty else { return }
        if isLast || mustRefuse { refuseWaiting() } else { control.bridge.room.want() }
    }

    /// Submits everything. This method blocks the thread, and with it the script, while the intake has no room.
    func submitAll() {
        submit()
        guard !waiting.isEmpty else { return }
        // A wake-up that is consumed here may have announced other work.
        defer { control.wake.wake() }
        while !waiting.isEmpty {
            if control.bridge.room.answer == .unknown, !mustRefuse { control.wake.wait(for: nil) }
            submit()
        }
    }

    /// Whether to stop waiting for room, because the intake gives no answer once the run is stopping.
    private var mustRefuse: Bool { control.isStopping || control.isClosing }

    /// Answers the messages that the intake has refused. When the page closes, its end answers them instead.
    private func refuseWaiting() {
        control.expect(-waiting.count)
        for arrival in waiting {
            inFlight.remove(arrival.token)
            if !control.isClosing { refused.append(arrival.token) }
        }
        waiting = []
    }
}
