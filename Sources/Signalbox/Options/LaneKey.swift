/// What tells apart the actions of one plugin that need not wait for each other.
@usableFromInline
struct LaneKey: Sendable, Hashable {
    let value: any Hashable & Sendable

    @usableFromInline
    init(_ value: any Hashable & Sendable) { self.value = value }

    @usableFromInline
    static func == (left: LaneKey, right: LaneKey) -> Bool {
        AnyHashable(left.value) == AnyHashable(right.value)
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}
