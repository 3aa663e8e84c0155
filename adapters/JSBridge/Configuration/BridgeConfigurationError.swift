/// Why no configuration of a page can be built: a mistake in the program or in what it was configured with.
public struct BridgeConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case tooManyHandlers, tooManyOrigins, invalidTitle, invalidUserAgentSuffix, noOrigin, invalidNavigation
        }
        private let word: Word

        /// More than ``BridgeConfigurator/maximumHandlers``.
        public static let tooManyHandlers = Code(word: .tooManyHandlers)
        /// More than ``BridgeConfigurator/maximumOrigins``.
        public static let tooManyOrigins = Code(word: .tooManyOrigins)
        /// A title of more than ``BridgeConfigurator/maximumTitleLength`` bytes.
        public static let invalidTitle = Code(word: .invalidTitle)
        /// What cannot be a part of a user agent.
        public static let invalidUserAgentSuffix = Code(word: .invalidUserAgentSuffix)
        /// The page's URL has no origin, and what would follow from one was not set.
        public static let noOrigin = Code(word: .noOrigin)
        /// No chain can be made for the page's URL, and none was set.
        public static let invalidNavigation = Code(word: .invalidNavigation)

        /// The word used in logs, such as `noOrigin`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The name of the preset it is about; empty when a configurator was used by itself.
    public let preset: String
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, preset: String = "") {
        self.code = code
        self.preset = preset
        self.detail = detail
    }

    func of(preset: String) -> BridgeConfigurationError {
        BridgeConfigurationError(code, detail, preset: preset)
    }

    /// The preset and the detail, in one line.
    public var description: String {
        let about = preset.isEmpty ? "page configuration" : "page preset \(LineText.escaped(preset))"
        return "\(about): \(LineText.escaped(detail))"
    }
}
