import SignalboxCore
import SignalboxTesting

/// A supervisor's intake that lets a test wait until an adapter has handed links over, asks for room, and is told that
/// there is none.
struct ForwardingIntake: Intake {
    let intake: any Intake
    let taken = EventList<Void>()
    let roomCalls = EventList<Void>()
    let closings = EventList<Void>()

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let count = intake.submit(batch, to: sink)
        taken.append(contentsOf: (0..<count).map { _ in () })
        return count
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
