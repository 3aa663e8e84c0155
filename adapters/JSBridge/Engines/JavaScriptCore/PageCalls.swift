import AdapterSupport
import SignalboxCore

/// The page's calls without an outcome, and the batch of messages to submit next. Confined to the page's thread.
final class PageCalls {
    private let control: PageControl
    private let intake: any Intake
    private let handle: PageHandle
    private let origin: Origin
    private let limits: MessageLimits
    private let batchMessages: Int
    private var batch: PageBatch
    private var inFlight: Set<UInt64> = []
    private var refused: [UInt64] = []
    private var buffer: [CChar] = []
    private var lastHandler: (text: String, envelope: Envelope)?
    /// Whether messages are accepted; `false` in the page's last turn.
    var isOpen = true

    init(_ parts: HeadlessPage.Parts) {
        control = parts.control
        intake = parts.intake
        handle = parts.handle
        limits = parts.configuration.limits
        batchMessages = parts.configuration.batchMessages
        batch = PageBatch(limits: parts.configuration.limits)
        origin = Origin(
            source: parts.configuration.source,
            facts: ScriptFacts(engine: "JavaScriptCore", isMainFrame: .yes)
        )
    }

    /// The number of messages that are submitted or batched and have no outcome.
    var unsettled: Int { inFlight.count }

    /// Whether the page has yet to be notified of refused messages.
    var hasRefused: Bool { !refused.isEmpty }

    /// Returns and clears the numbers of the messages refused because the source is stopping.
    func takeRefused() -> [UInt64] {
        defer { refused = [] }
        return refused
    }

    /// - Returns: Whether the number had no outcome before.
    func settle(_ number: UInt64) -> Bool {
        inFlight.remove(number) != nil
    }

    // MARK: - Accepting messages

    /// Accepts a message from the page, and submits the batch when it is full.
    ///
    /// - Parameters:
    ///   - handler: The handler to which it was posted, or `nil` for a standard envelope.
    ///   - timeout: The time from the call to its deadline, in milliseconds, or 0 for none.
    func post(_ handler: String?, _ json: borrowing ScriptText, number: UInt64, timeout: Double) {
        guard isOpen, !control.isClosing else { return }
        guard !control.isStopping else { return refused.append(number) }
        guard inFlight.insert(number).inserted else { return }
        append(handler.map(envelope) ?? .success(.standard), json, token: number, timeout: timeout)
        if batch.count >= batchMessages || batch.byteCount >= PageCalls.batchBytes { submit() }
    }

    /// The size, in bytes, at which a batch is submitted before it has the maximum number of messages.
    private static let batchBytes = 1_048_576

    private func append(
        _ envelope: Result<Envelope, Outcome.Rejection>,
        _ json: borrowing ScriptText,
        token: UInt64,
        timeout: Double
    ) {
        guard json.length <= limits.bytes else {
            let beginning = Array(json.text(atMost: limits.bytes / 3).utf8)
            return beginning.withUnsafeBytes {
                batch.append(tooLong: $0, token: token, origin: origin, sender: handle)
            }
        }
        json.withUTF8(in: &buffer) { bytes in
            batch.append(bytes, as: envelope, token: token, origin: origin, sender: handle, timeout: timeout)
        }
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

    /// Submits the batch. Blocks the thread, and with it the script, while the intake has no room.
    ///
    /// Messages refused by the intake are answered to the page. When the page closes, its end answers them instead.
    func submit() {
        guard batch.count > 0 else { return }
        let arrivals = batch.take()
        control.expect(arrivals.count)
        var taken = intake.take(arrivals, to: control)
        while taken < arrivals.count {
            guard waitForRoom() else {
                control.expect(taken - arrivals.count)
                for arrival in arrivals[taken...] {
                    inFlight.remove(arrival.token)
                    if !control.isClosing { refused.append(arrival.token) }
                }
                return
            }
            taken += intake.take(Array(arrivals[taken...]), to: control)
        }
    }

    /// - Returns: Whether to submit again; `false` when the page ends.
    private func waitForRoom() -> Bool {
        guard !control.isStopping, !control.isClosing else { return false }
        let room = control.bridge.room
        room.want()
        // Wake-ups consumed here may have announced other work.
        defer { control.wake.wake() }
        while room.answer == .unknown && !control.isStopping && !control.isClosing { control.wake.wait(for: nil) }
        return room.answer == .free && !control.isStopping && !control.isClosing
    }
}
