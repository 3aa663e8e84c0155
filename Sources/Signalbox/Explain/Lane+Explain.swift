import Synchronization

extension Lane {
    /// Whether what comes from a source could not be called now. Of a lane with keys it is known only where no key could be:
    /// whether the calls of one key are held up is seen when its action comes.
    func isStalled(for intake: SourceIntake?) -> Bool {
        state.withLock { state in
            if state.isStalled { return true }
            guard state.order == .source, let intake else { return false }
            return state.places.contains { $0.isStalled && $0.current?.intake === intake }
        }
    }
}
