/// What a kind of source can do: the supervisor and the conformance suite read it.
public struct AdapterFeatures: OptionSet, Sendable, Hashable {
    /// The bits, one per feature.
    public let rawValue: UInt32

    /// - Parameter rawValue: the bits, one per feature.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// An outcome is answered to whoever sent the arrival.
    public static let replies = AdapterFeatures(rawValue: 1 << 0)
    /// The program can send unasked, through ``Arrival/sender``.
    public static let pushes = AdapterFeatures(rawValue: 1 << 1)
    /// What was not acknowledged comes again, so an arrival is held at most for the hold limit.
    public static let redelivers = AdapterFeatures(rawValue: 1 << 2)
    /// The source can have its navigation decided.
    public static let navigates = AdapterFeatures(rawValue: 1 << 3)
    /// An id that a sender gives stands for one message in the whole source: when it comes again it is the same message
    /// again. Not so where each page or connection counts its messages for itself.
    public static let stableIDs = AdapterFeatures(rawValue: 1 << 4)
}
