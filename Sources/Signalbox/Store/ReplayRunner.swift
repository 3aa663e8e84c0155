import SignalboxCore
import Synchronization

/// Dispatches dead letters whose replay was requested, through the current plugins and all checks.
final class ReplayRunner: Sendable {
    /// The maximum number of letters that are in progress.
    static let maximumInProgress = 1_000

    private let store: any MessageStore
    private let inProgress = Mutex<Set<Int64>>([])
    private let isReading = Atomic<Bool>(false)

    init(_ store: any MessageStore) { self.store = store }

    /// Looks for requests. Called by the timer.
    ///
    /// - Parameter intake: Returns the intake of a source, or `nil` if there is no such source.
    func tick(_ core: SupervisorCore, intake: @escaping @Sendable (SourceName) -> SourceIntake?) {
        guard isReading.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else {
            return
        }
        core.startTask { [self] in
            defer { isReading.store(false, ordering: .releasing) }
            // Other processes delete letters too.
            if let use = try? await store.deadLetterUse() { core.storedDeadLetters.withLock { $0 = use } }
            let known = inProgress.withLock { $0 }
            guard let requests = try? await store.requestedReplays(count: ReplayRunner.maximumInProgress + known.count)
            else { return }
            for request in requests where !known.contains(request.letter) { dispatch(request, intake) }
        }
    }

    /// Dispatches a letter. If its source has no room, the letter stays requested.
    private func dispatch(_ request: RequestedReplay, _ intake: (SourceName) -> SourceIntake?) {
        let hasRoom = inProgress.withLock { letters in
            guard letters.count < ReplayRunner.maximumInProgress else { return false }
            letters.insert(request.letter)
            return true
        }
        guard hasRoom else { return }
        let source = request.message.source
        guard let intake = intake(source), let adapter = intake.restoring else {
            return refuse(request, "the supervisor has no source \(source) that can read stored messages")
        }
        var arrivals = adapter.restore([request.message], at: store.now)
        if let action = request.action { arrivals = arrivals.map { $0.renamed(to: action, of: request.message) } }
        for position in arrivals.indices { arrivals[position].isRedelivered = true }
        let sink = ReplaySink(letter: request.letter) { [self] in forget(request.letter) }
        if intake.submit(arrivals, to: sink) == 0 { forget(request.letter) }
    }

    private func refuse(_ request: RequestedReplay, _ detail: String) {
        let rejection = Outcome.Rejection(.unknownAction, detail: detail)
        var record = StoredSettlement(source: request.message.source, replayed: request.letter)
        record.deadLetter = StoredDeadLetter(
            message: request.message,
            outcome: Outcome.rejected(rejection).name,
            reason: rejection.reason.description,
            detail: detail,
            path: nil,
            explanation: Bytes("[]"),
            attempts: 0,
            plugin: nil
        )
        store.record(record) { [self] in forget(request.letter) }
    }

    private func forget(_ letter: Int64) { inProgress.withLock { _ = $0.remove(letter) } }
}

/// Receives the outcome of a replayed dead letter. No sender waits for it.
final class ReplaySink: StoredArrivals {
    private let letter: Int64
    private let onEnd: @Sendable () -> Void

    init(letter: Int64, onEnd: @escaping @Sendable () -> Void) {
        self.letter = letter
        self.onEnd = onEnd
    }

    func place(of token: UInt64) -> StorePlace { StorePlace(letter: letter) }
    func mayAcknowledge(_ token: UInt64) {}
    func settle(_ token: UInt64, _ outcome: Outcome) { onEnd() }
}

extension Arrival {
    /// Returns the arrival as one of another action, with the same body. A message that is not an action becomes the body as a
    /// whole.
    fileprivate func renamed(to name: ActionName, of message: StoredMessage) -> Arrival {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: MessageLimits(bytes: 1 << 30, depth: 512))
        let action = try? reading.get()
        let body = action.flatMap { try? $0.body.decode(RawBody.self) }
        let bytes = body.map { $0.kind == .json ? action?.body.json ?? $0.bytes : $0.bytes } ?? original
        let naming = RouteNaming(action: name, id: action.flatMap { hasSenderID ? $0.id : nil })
        bytes.withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: receivedAt,
                deadline: action?.deadline,
                envelope: .route(naming),
                payload: body?.kind ?? .json
            )
        }
        return batch.take(keepingIDsOf: [message]).first ?? self
    }
}
