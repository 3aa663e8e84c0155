import SignalboxCore

/// The names that a rule of `from` may use, whatever else is wrong with the sources.
struct SourceNames {
    /// As the file names them, in its order.
    let configured: [String]
    /// Those of them that have topics.
    let withTopics: Set<String>
    /// Those of them that are pages.
    let withPages: Set<String>
    /// Those of them that bring links.
    let withLinks: Set<String>
    /// What the routes of a source of links begin with, where they are right.
    let linkPlaces: [String: LinkPlaces]

    /// Every name a rule may use.
    var all: [String] { configured + [SourceSection.internalName.text] }
}
