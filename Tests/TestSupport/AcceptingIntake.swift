package import SignalboxCore

/// Accepts every arrival as a source with a journal does, before another intake takes it.
package struct AcceptingIntake: Intake {
    /// Passes on outcomes only, because the arrivals are accepted already.
    private final class OutcomeSink: SettlementSink {
        private let sink: any SettlementSink

        init(_ sink: any SettlementSink) {
            self.sink = sink
        }

        func mayAcknowledge(_ token: UInt64) {}
        func settle(_ token: UInt64, _ outcome: Outcome) { sink.settle(token, outcome) }
    }

    private let intake: any Intake

    package init(intake: any Intake) {
        self.intake = intake
    }

    package func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch { sink.accepted(arrival.token) }
        return intake.submit(batch, to: OutcomeSink(sink))
    }

    package func room() async throws(SourceClosed) { try await intake.room() }
}
