import SignalboxCore

/// An adapter on its way to the run, and where its arrivals go.
package struct SourceStart: Sendable {
    let adapter: any Adapter
    let intake: SourceIntake
}
