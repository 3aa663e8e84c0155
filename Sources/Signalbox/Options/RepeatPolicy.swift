/// Whether messages of a source that come again are recognised, by the id that their sender gave; a CloudEvent by its
/// `source` and its id.
///
/// While the first is running its repeat gets the same outcome at the same moment; after it was handled, the same outcome
/// again without a call; after anything else it runs again. The same id with another name or body is
/// `rejected(idConflict)`. Ids that Signalbox assigned are never repeated.
public struct RepeatPolicy: Sendable, Hashable {
    enum Choice: Sendable, Hashable { case automatic, never, within(RepeatLimits) }
    let choice: Choice

    /// Recognised where the adapter has the feature `stableIDs`, within the default ``RepeatLimits``.
    public static let automatic = RepeatPolicy(choice: .automatic)
    /// Not recognised.
    public static let never = RepeatPolicy(choice: .never)
    /// Recognised whatever the adapter says: whoever sends must give each message an id of its own.
    public static func within(_ limits: RepeatLimits) -> RepeatPolicy { RepeatPolicy(choice: .within(limits)) }
}
