/// Why routes for links cannot be used. Found when they are made, before any link comes.
public struct AppSchemeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case routeCount, missingScheme, forbiddenScheme, missingAction, conflictingAction, conflictingID,
                ambiguousRoutes
        }
        private let word: Word

        /// There are no routes, or more than ``AppRoutes/maximumRoutes``.
        public static let routeCount = Code(word: .routeCount)
        /// A pattern that begins with a slash: it would match links of every scheme.
        public static let missingScheme = Code(word: .missingScheme)
        /// A pattern of a scheme that runs code or reads files where it is opened: see ``AppRoutes/forbiddenSchemes``.
        public static let forbiddenScheme = Code(word: .forbiddenScheme)
        /// Nothing names the action: neither the route nor a capture `{action}`.
        public static let missingAction = Code(word: .missingAction)
        /// The action is named twice: by the route and by a capture `{action}`.
        public static let conflictingAction = Code(word: .conflictingAction)
        /// The id is given twice: by a capture `{id}` and because the route is for one-time links.
        public static let conflictingID = Code(word: .conflictingID)
        /// Two patterns match the same links, and neither is the more specific.
        public static let ambiguousRoutes = Code(word: .ambiguousRoutes)

        /// The word used in logs, such as `missingScheme`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail.
    public var description: String { detail }
}
