#if JavaScriptCore
import AdapterSupport
import SignalboxCore

/// Tracks a run of a headless page, in this process or a separate one. It holds the calls that have no outcome yet, the
/// next batch to submit, and the run's failure. It is confined to the page's thread.
final class PageRun {
    /// The objects that a run depends on.
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
    /// The arrivals that the intake had no room for.
    private var waiting: ArraySlice<Arrival> = []
    private var inFlight: Set<UInt64> = []
    private var refused: [UInt64] = []
    private var notices: [(token: UInt64, notice: PageNotice)] = []
    private var lastHandler: (text: String, envelope: Envelope)?
    /// Whether messages are accepted. This is `false` during the page's last turn.
    var isOpen = true
    private(set) var failure: JSBridgeError?

    /// The size in bytes at which a batch is submitted, even if it could hold more messages.
    private static let batchBytes = 1_048_576

    private var control: PageControl { parts.control }

    init(_ parts: Parts) {
        self.parts = parts
        batch = PageBatch(limits: parts.configuration.limits)
        let facts = ScriptFacts(engine: "JavaScriptCore", isMainFrame: .yes)
        origin = Origin(source: parts.configuration.source, facts: facts)
    }

    /// The number of messages that have been batched or submitted and have no outcome yet.
    var unsettled: Int { inFlight.count }

    /// Whether the page has yet to be notified of refused messages.
    var hasRefused: Bool { !refused.isEmpty }

    /// Whether the batch must be submitted before the page can send more messages.
    var isFull: Bool {
        !waiting.isEmpty || batch.count >= parts.configuration.batchMessages || batch.byteCount >= PageRun.batchBytes
    }

    // MARK: - Outcomes

    /// Passes the notices received since the last call to a closure, with `abandoned(drain)` for each refused message.
    func deliver(_ tell: (UInt64, PageNotice) -> Void) {
        let refused = refused
        self.refused = []
        control.exchange(&notices)
        for (token, notice) in notices {
            if case .accepted = notice {
                if inFlight.contains(token) { tell(token, notice) }
            } else if inFlight.remove(token) != nil {
                tell(token, notice)
            }
        }
        notices.removeAll(keepingCapacity: true)
        for number in refused { tell(number, .outcome(.abandoned(.drain))) }
    }

    // MARK: - Ending

    /// Records the failure that ends the page, unless a failure is already recorded.
    func fail(_ code: JSBridgeError.Code, _ detail: String) {
        if failure == nil { failure = JSBridgeError(code, detail, source: parts.configuration.source) }
    }

    /// Ends the run after its page has stopped accepting work, and waits until every submitted message has settled.
    ///
    /// - Throws: The run's failure.
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

    /// Accepts a message from the page. The message is ignored if an earlier message with the same number has no
    /// outcome yet.
    ///
    /// - Parameters:
    ///   - handler: The handler that the message was posted to, or `nil` for a standard envelope.
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

    /// Submits as much as the intake has room for, and asks to be notified when there is room for the remaining
    /// arrivals. This method never blocks.
    ///
    /// - Parameter isLast: Whether to refuse the remaining arrivals instead of waiting for room.
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

    /// Submits all messages. This method blocks the thread, and therefore the script, while the intake has no room.
    func submitAll() {
        submit()
        guard !waiting.isEmpty else { return }
        // A wake-up consumed here may have announced other work.
        defer { control.wake.wake() }
        while !waiting.isEmpty {
            if control.bridge.room.answer == .unknown, !mustRefuse { control.wake.wait(for: nil) }
            submit()
        }
    }

    /// Whether to stop waiting for room, because the intake no longer answers requests for room once the run is
    /// stopping.
    private var mustRefuse: Bool { control.isStopping || control.isClosing }

    /// Answers the messages that the intake refused. If the page is closing, these messages are answered when the page
    /// ends.
    private func refuseWaiting() {
        control.expect(-waiting.count)
        for arrival in waiting {
            inFlight.remove(arrival.token)
            if !control.isClosing { refused.append(arrival.token) }
        }
        waiting = []
    }
}
#endif
