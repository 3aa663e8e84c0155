import SignalboxCore

/// Passes the messages of a page in a separate process to the intake. Belongs to the page's thread.
final class RemoteCalls {
    private let control: PageControl
    private let intake: any Intake
    private let handle: PageHandle
    private let origin: Origin
    private let limits: MessageLimits
    private let batchMessages: Int
    private var batch: PageBatch
    /// Arrivals that the intake had no room for.
    private var waiting: ArraySlice<Arrival> = []
    private var inFlight: Set<UInt64> = []
    private var refused: [UInt64] = []

    init(_ parts: HeadlessPage.Parts) {
        control = parts.control
        intake = parts.intake
        handle = parts.handle
        limits = parts.configuration.limits
        batchMessages = parts.configuration.batchMessages
        batch = PageBatch(limits: limits)
        origin = Origin(
            source: parts.configuration.source,
            facts: ScriptFacts(engine: "JavaScriptCore", isMainFrame: .yes)
        )
    }

    /// How many messages, submitted or about to be, have no outcome yet.
    var unsettled: Int { inFlight.count }

    /// Whether reading must pause.
    var isFull: Bool { !waiting.isEmpty || batch.count >= batchMessages }

    func takeRefused() -> [UInt64] {
        defer { refused = [] }
        return refused
    }

    /// - Returns: whether the number had no outcome before.
    func settle(_ number: UInt64) -> Bool { inFlight.remove(number) != nil }

    /// Takes a call. Ignores a number that already stands for a call without an outcome.
    func take(_ frame: WorkerFrame) {
        guard let json = frame.texts.first else { return }
        guard !control.isStopping else { return refused.append(frame.number) }
        guard inFlight.insert(frame.number).inserted else { return }
        json.withUnsafeBytes { bytes in
            guard bytes.count <= limits.bytes, frame.texts.count < 3 else {
                return batch.append(tooLong: bytes, token: frame.number, origin: origin, sender: handle)
            }
            batch.append(
                bytes,
                as: RemoteCalls.envelope(frame),
                token: frame.number,
                origin: origin,
                sender: handle,
                timeout: Double(frame.value) / 1_000
            )
        }
    }

    private static func envelope(_ frame: WorkerFrame) -> Result<Envelope, Outcome.Rejection> {
        guard frame.texts.count > 1, !frame.texts[1].isEmpty else { return .success(.standard) }
        do throws(NameError) {
            return .success(.handler(try ActionName(frame.text(1))))
        } catch {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name names no action: \(error)"))
        }
    }

    /// Submits what the intake has room for, and asks for room for the rest.
    ///
    /// - Parameter isLast: whether the rest is refused instead.
    func submit(isLast: Bool = false) {
        if waiting.isEmpty {
            guard batch.count > 0 else { return }
            waiting = batch.take()[...]
            control.expect(waiting.count)
        } else if !isLast {
            switch control.room {
            case .unknown: return
            case .free: break
            case .closed: return refuseWaiting()
            }
        }
        let taken = min(max(0, intake.submit(Array(waiting), to: control)), waiting.count)
        waiting = waiting.dropFirst(taken)
        guard !waiting.isEmpty else { return }
        if isLast || control.isStopping { refuseWaiting() } else { control.wantRoom() }
    }

    private func refuseWaiting() {
        control.expect(-waiting.count)
        for arrival in waiting {
            inFlight.remove(arrival.token)
            refused.append(arrival.token)
        }
        waiting = []
    }
}
