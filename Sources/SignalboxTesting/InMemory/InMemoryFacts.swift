public import SignalboxCore

/// What an ``InMemoryAdapter`` and a ``PluginTester`` know about where their arrivals come from, unless they are told
/// other facts.
public struct InMemoryFacts: OriginFacts {
    /// `memory`.
    public static let kind = "memory"
    /// Any text, for an access rule to look at.
    public var label: String

    /// Facts with this label.
    public init(label: String = "") {
        self.label = label
    }
}
