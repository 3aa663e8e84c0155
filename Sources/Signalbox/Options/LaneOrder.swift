/// Which actions of a plugin must wait for each other.
///
/// In every order at most `maxConcurrent` calls run at once.
public struct LaneOrder<Info>: Sendable {
    @usableFromInline
    enum Rule: Sendable {
        case source
        case none
        case key(@Sendable (Info) -> LaneKey)
    }

    @usableFromInline
    let rule: Rule

    @usableFromInline
    init(_ rule: Rule) { self.rule = rule }

    /// Those of one source, in the order in which they were submitted. Sources take turns.
    public static var source: LaneOrder { LaneOrder(.source) }

    /// None: they begin in the order in which they were submitted, and end as they end.
    public static var none: LaneOrder { LaneOrder(.none) }

    /// Those with equal keys, from whatever source, in the order in which they were submitted: `.key(\.customer)`.
    ///
    /// The body is decoded once, before the action waits for its turn: before the lane, attempts and middleware. One that does
    /// not decode is rejected there, without an attempt. Decoding has the plugin's timeout for itself.
    ///
    /// - Parameter key: called once per action, on any thread; must not block. The key's `hash(into:)` and `==` are called while the
    ///   lane is locked: they must be quick, and must not call the supervisor.
    @inlinable
    public static func key<Key: Hashable & Sendable>(_ key: @escaping @Sendable (Info) -> Key) -> LaneOrder {
        LaneOrder(.key { LaneKey(key($0)) })
    }
}
