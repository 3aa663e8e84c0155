/// What tells apart the actions of one plugin that need not wait for each other.
///
/// Texts and integers, which are most keys, are compared as what they are; anything else as `AnyHashable`, which has to find
/// out each time what it holds.
@usableFromInline
enum LaneKey: Sendable {
    case text(String)
    case number(Int)
    case other(any Hashable & Sendable)

    @inlinable
    init<Value: Hashable & Sendable>(_ value: Value) {
        if let text = value as? String {
            self = .text(text)
        } else if let number = value as? Int {
            self = .number(number)
        } else {
            self = .other(value)
        }
    }
}

extension LaneKey: Hashable {
    @usableFromInline
    static func == (left: LaneKey, right: LaneKey) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.other(let left), .other(let right)): AnyHashable(left) == AnyHashable(right)
        default: false
        }
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): text.hash(into: &hasher)
        case .number(let number): number.hash(into: &hasher)
        case .other(let value): value.hash(into: &hasher)
        }
    }
}
