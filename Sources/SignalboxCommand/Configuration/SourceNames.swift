import SignalboxCore

/// The names that a rule of `from` may use, whatever else is wrong with the sources.
struct SourceNames {
    /// As the file names them, in its order.
    let configured: [String]
    /// Those of them that have topics.
    let withTopics: Set<String>

    /// Every name a rule may use.
    var all: [String] { configured + [SourceSection.internalName.text] }
}
