/// Turns what one source brings into arrivals. It knows no plugin and no supervisor.
public protocol Adapter: Sendable {
    /// The configured source whose arrivals these are.
    var source: SourceName { get }

    /// What this kind of source can do.
    var features: AdapterFeatures { get }

    /// Receives until its task is cancelled, which is the graceful stop: read no more, wait until the sink has heard of
    /// every arrival taken (the supervisor bounds that wait), let the acknowledgements out, return.
    ///
    /// When ``Intake/submit(_:to:)`` takes less than all, the adapter stops reading until ``Intake/room()`` returns; when
    /// that throws it stops gracefully.
    ///
    /// - Throws: what makes further work pointless. A lost connection is not such a thing: the adapter reconnects.
    func run(into intake: any Intake) async throws
}
