/// What a pattern named in a URL or topic, from left to right. Each name occurs once.
public struct RouteCaptures: Sendable, Hashable, RandomAccessCollection {
    private let captures: [RouteCapture]

    /// Nothing named, as by a pattern without captures.
    public init() {
        captures = []
    }

    package init(_ captures: [RouteCapture]) {
        self.captures = captures
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// How many there are: at most ``URLPattern/maximumCaptures``.
    public var endIndex: Int { captures.count }

    /// The capture at a place; a place that is none is a programming error, as with an array.
    public subscript(position: Int) -> RouteCapture { captures[position] }

    /// The text of the capture with that name, or `nil` when there is none.
    public subscript(name: String) -> String? {
        captures.first { $0.name == name }?.value
    }

    /// The capture's text as a number, or `nil` when there is no such capture or the text is not
    /// `-?(0|[1-9][0-9]*)` within the range of `Int`. Nothing is trimmed; `-0` is 0.
    ///
    /// The capture need not be of kind ``CaptureKind/int``; one of that kind always has a value on 64-bit platforms.
    public func int(_ name: String) -> Int? {
        self[name].flatMap { ScalarText.int64($0.utf8) }.flatMap { Int(exactly: $0) }
    }

    /// The capture's text as a truth value, or `nil` when there is no such capture or the text is neither `true` nor
    /// `false`. Nothing is trimmed, and letter case counts.
    public func bool(_ name: String) -> Bool? {
        self[name].flatMap { ScalarText.bool($0.utf8) }
    }
}
