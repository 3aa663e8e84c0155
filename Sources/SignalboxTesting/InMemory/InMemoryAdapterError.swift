/// Why a run of an ``InMemoryAdapter`` did not begin. The kinds; more may be added.
public struct InMemoryAdapterError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: String { case alreadyRunning }
    private let code: Code

    /// A run is in progress: an adapter has one at a time.
    public static let alreadyRunning = InMemoryAdapterError(code: .alreadyRunning)

    /// The word used in logs.
    public var description: String { code.rawValue }
}
