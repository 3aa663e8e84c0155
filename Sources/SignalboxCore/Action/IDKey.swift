/// Under which member an action's id came.
public enum IDKey: UInt8, Sendable, Hashable {
    /// The sender gave none; Signalbox assigned one.
    case assigned
    /// The member `id`, or a route's capture of that name.
    case id
    /// The member `uuid`, an accepted other name for `id`.
    case uuid
}
