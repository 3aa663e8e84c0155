import SignalboxCore
import SignalboxTesting

/// A supervisor's intake that lets a test wait until an adapter asks for room, and until it is told that there is none.
struct ForwardingIntake: Intake {
    let intake: any Intake
    let roomCalls = EventList<Void>()
    let closings = EventList<Void>()

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        intake.submit(batch, to: sink)
    }

    func room() async throws(SourceClosed) {
        roomCalls.append(contentsOf: [()])
        do throws(SourceClosed) {
            try await intake.room()
        } catch {
            closings.append(contentsOf: [()])
            throw error
        }
    }
}
