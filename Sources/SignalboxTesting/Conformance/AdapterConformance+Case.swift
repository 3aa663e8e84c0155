import SignalboxCore

extension AdapterConformance {
    /// The cases of the suite. More may be added; an adapter that conforms passes each that applies to its features.
    public enum Case: String, CaseIterable, Sendable, Hashable, CustomStringConvertible {
        /// Every message, of up to 60 KB, reaches its plugin once, whole, and nothing comes again in the next run.
        case deliverAll
        /// Plugins see the messages of a source in the order in which they were sent, under a small window too.
        case orderPerSource
        /// A run is cancelled before it starts, while it starts, twice and after its end, many times; everything sent is
        /// still delivered.
        case concurrentStartAndStop
        /// A plugin that throws fails its own arrivals and no others.
        case throwingPlugin
        /// An action without a plugin is rejected, and the messages around it are handled.
        case unknownAction
        /// A message that is no action becomes a rejected arrival whose original bytes contain its id, and the messages
        /// around it are handled.
        case malformedArrival
        /// A plugin that does not allow the source is never called.
        case forbiddenSource
        /// Every message is answered with its own outcome. Needs `replies`.
        case answersEverySender
        /// When the window is full the adapter waits for room; then all messages come, in order.
        case windowFullThenDrained
        /// On a graceful stop what has begun is finished and told, and only then the run returns; what was not taken comes
        /// again, or its sender is told.
        case drainOnStop
        /// Stopping twice is stopping once, and a run can follow a run.
        case stopIsIdempotent
        /// A plugin that never returns fails its own call with a timeout; other plugins go on.
        case hungPlugin
        /// What is abandoned is never acknowledged: it comes again, or its sender is told.
        case abandonedIsNotAcknowledged
        /// With a slow plugin no more arrivals are inside or offered than the window and one batch.
        case memoryBoundedUnderSlowPlugin
        /// A message that is sent again while it is running reaches its plugin once and has its outcome twice. Needs a subject
        /// that submits while one of its messages runs.
        case repeatWhileRunning
        /// A message that is sent again after it was handled is acknowledged and answered as before, without a call.
        case repeatAfterHandled
        /// A message that is sent again after it failed reaches its plugin again.
        case repeatAfterFailed

        /// The case's name.
        public var description: String { rawValue }

        /// Why the case does not apply to an adapter, or `nil` when it does.
        func inapplicable(to subject: any ConformanceSubject) -> String? {
            switch self {
            case .answersEverySender:
                subject.adapter.features.contains(.replies) ? nil : "the adapter answers nobody"
            case .repeatWhileRunning:
                subject.submitsWhileOneRuns ? nil : "the adapter submits nothing while one of its messages runs"
            default: nil
            }
        }
    }
}
