import SignalboxCore

/// Brings one action of the program's own, and ends when it is settled.
struct InternalAdapter: Adapter {
    private let arrival: Arrival

    /// - Parameters:
    ///   - body: JSON; empty for null.
    ///   - limits: the bounds of the message.
    init(_ action: ActionName, id: ActionID?, body: [UInt8], limits: MessageLimits) throws(CommandRefusal) {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        let origin = Origin(source: SourceSection.internalName, facts: InternalFacts())
        let naming = RouteNaming(action: action, id: id)
        body.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now, envelope: .route(naming))
        }
        guard let arrival = batch.take().first else { throw CommandRefusal(.unavailable, "no action was made") }
        if case .failure(let rejection) = arrival.reading {
            throw CommandRefusal(.invalidConfiguration, "the body is no JSON that can be sent: \(rejection.detail)")
        }
        self.arrival = arrival
    }

    var source: SourceName { SourceSection.internalName }
    var features: AdapterFeatures { .replies }

    func run(into intake: any Intake) async {
        _ = await intake.deliver([arrival])
    }
}
