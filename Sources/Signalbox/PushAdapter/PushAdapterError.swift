import SignalboxCore

/// The reason why a ``PushAdapter`` did not start a run.
public struct PushAdapterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more, so handle unknown codes as well.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `alreadyRunning`.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A run is in progress. An adapter has one run at a time, so it belongs to one supervisor.
        public static let alreadyRunning = Code(rawValue: "alreadyRunning")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A description of the error and of how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail, followed by the code, such as `[PushAdapterError.alreadyRunning]`.
    public var description: String { coded(detail) }
}

extension PushAdapterError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}
