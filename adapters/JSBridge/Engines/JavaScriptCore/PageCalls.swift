import AdapterThreads
import SignalboxCore

/// The page's messages on their way into the program, and which of them have no outcome yet. Belongs to the page's
/// thread.
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
    /// Whether messages are still taken: not in the page's last turn.
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

    /// How many messages were submitted, or are about to be, and have no outcome.
    var unsettled: Int { inFlight.count }

    /// Whether messages were not taken, and the page has not been told.
    var hasRefused: Bool { !refused.isEmpty }

    /// The numbers of the messages that were not taken because the source ends.
    func takeRefused() -> [UInt64] {
        defer { refused = [] }
        return refused
    }

    /// - Returns: whether the number had no outcome before.
    func settle(_ number: UInt64) -> Bool {
        inFlight.remove(number) != nil
    }

    // MARK: - Taking

    /// Takes a message from the page, and submits when the batch is full.
    ///
    /// - Parameters:
    ///   - handler: what it was posted to, or `nil` when it is a standard envelope.
    ///   - timeout: in milliseconds from now, or 0.
    func post(_ handler: String?, _ json: borrowing ScriptText, number: UInt64, timeout: Double) {
        guard isOpen, !control.isClosing else { return }
        guard !control.isStopping else { return refused.append(number) }
        guard inFlight.insert(number).inserted else { return }
        append(handler.map(envelope) ?? .success(.standard), json, token: number, timeout: timeout)
        if batch.count >= batchMessages || batch.byteCount >= PageCalls.batchBytes { submit() }
    }

    /// A batch of large messages is submitted earlier.
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
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name names no action: \(error)"))
        }
    }

    // MARK: - Submitting

    /// Submits what was taken. While the intake has no room the thread stands still here, and the script with it.
    ///
    /// What is not taken any more is answered to the page, unless the page ends at once: then that answers it.
    func submit() {
        guard batch.count > 0 else { return }
        let arrivals = batch.take()
        control.expect(arrivals.count)
        var taken = take(arrivals)
        while taken < arrivals.count {
            guard untilRoom() else {
                control.expect(taken - arrivals.count)
                for arrival in arrivals[taken...] {
                    inFlight.remove(arrival.token)
                    if !control.isClosing { refused.append(arrival.token) }
                }
                return
            }
            taken += take(Array(arrivals[taken...]))
        }
    }

    /// Never trusts the answer further than the batch reaches.
    private func take(_ arrivals: [Arrival]) -> Int {
        min(max(0, intake.submit(arrivals, to: control)), arrivals.count)
    }

    /// - Returns: whether to try again; not when the page ends.
    private func untilRoom() -> Bool {
        guard !control.isStopping, !control.isClosing else { return false }
        control.wantRoom()
        // The wake-ups that were used up here may have been for what waits elsewhere.
        defer { control.wake.wake() }
        while control.room == .unknown && !control.isStopping && !control.isClosing { control.wake.wait(for: nil) }
        return control.room == .free && !control.isStopping && !control.isClosing
    }
}
