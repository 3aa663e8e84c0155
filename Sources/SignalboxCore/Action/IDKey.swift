/// How an action's id came. The ways; more may be added.
public struct IDKey: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case assigned, id, uuid }
    private let code: Code

    /// The sender gave none; Signalbox assigned one.
    public static let assigned = IDKey(code: .assigned)
    /// The member `id`, or a route's capture of that name.
    public static let id = IDKey(code: .id)
    /// The member `uuid`, an accepted other name for `id`.
    public static let uuid = IDKey(code: .uuid)

    /// `assigned`, `id` or `uuid`.
    public var description: String { "\(code)" }
}
