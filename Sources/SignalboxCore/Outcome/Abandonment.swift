extension Outcome {
    /// Why Signalbox let go of an arrival. It is not acknowledged and, where the source can, it comes again.
    public struct Abandonment: Error, Sendable, Hashable, CustomStringConvertible {
        private enum Code: String { case drain, stop, holdLimit, givenBack }
        private let code: Code
        /// What exactly, in words; empty when the code says it all.
        public let detail: String

        private init(code: Code, detail: String = "") {
            self.code = code
            self.detail = detail
        }

        /// It had not begun when the time for draining was over.
        public static let drain = Abandonment(code: .drain)
        /// The program was stopped at once.
        public static let stop = Abandonment(code: .stop)
        /// It waited longer than its source may hold an arrival without acknowledging it.
        public static let holdLimit = Abandonment(code: .holdLimit)
        /// The plugin cannot do its work at present and asked for the message again (``RetryExhaustion/abandon``).
        ///
        /// - Parameter detail: how it failed, in words.
        public static func givenBack(_ detail: String) -> Abandonment { Abandonment(code: .givenBack, detail: detail) }

        /// The abandonment with this word, or `nil` when there is none.
        package init?(_ word: String) {
            guard let code = Code(rawValue: word) else { return nil }
            self.init(code: code)
        }

        /// Whether the plugin gave it back.
        public var isGivenBack: Bool { code == .givenBack }

        /// The word, followed by the detail if there is one.
        package var text: String { detail.isEmpty ? description : "\(description): \(detail)" }

        /// The word used in logs and JSON.
        public var description: String { code.rawValue }
    }
}
