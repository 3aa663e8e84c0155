import SignalboxTesting

extension EventList<String> {
    /// The warnings and errors with this text.
    func warnings(_ text: String) -> [String] {
        all.filter { ($0.hasPrefix("warning") || $0.hasPrefix("error")) && $0.contains(text) }
    }
}
