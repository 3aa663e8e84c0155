extension Outcome {
    /// Why Signalbox let go of an arrival. It is not acknowledged and, where the source can, it comes again.
    public struct Abandonment: Error, Sendable, Hashable, CustomStringConvertible {
        private enum Code: String { case drain, stop, holdLimit }
        private let code: Code

        /// It had not begun when the time for draining was over.
        public static let drain = Abandonment(code: .drain)
        /// The program was stopped at once.
        public static let stop = Abandonment(code: .stop)
        /// It waited longer than its source may hold an arrival without acknowledging it.
        public static let holdLimit = Abandonment(code: .holdLimit)

        /// The word used in logs and JSON.
        public var description: String { code.rawValue }
    }
}
