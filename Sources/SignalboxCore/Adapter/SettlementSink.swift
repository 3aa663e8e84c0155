/// Where an adapter hears what became of its arrivals.
///
/// Both calls come on any thread, in any order between arrivals, also from inside ``Intake/submit(_:to:)``; they must
/// not block, and must not call `submit`.
public protocol SettlementSink: AnyObject, Sendable {
    /// Signalbox has custody: the arrival is journalled, or settled where there is no journal. At most once per token,
    /// before ``settle(_:_:)``, and never for an arrival that is abandoned.
    func mayAcknowledge(_ token: UInt64)

    /// The one outcome of the arrival. Exactly once per token of an arrival that was taken.
    func settle(_ token: UInt64, _ outcome: Outcome)
}
