/// Lists the handlers of a ``NavigationRouter``, one a line, with `if`, `switch` and `for`.
@resultBuilder
public enum NavigationChainBuilder {
    /// One handler.
    public static func buildExpression(_ handler: any NavigationHandler) -> [any NavigationHandler] { [handler] }

    /// Several handlers, in order.
    public static func buildExpression(_ handlers: [any NavigationHandler]) -> [any NavigationHandler] { handlers }

    /// The handlers of all lines, in order.
    public static func buildBlock(_ parts: [any NavigationHandler]...) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Those of an `if`, or none.
    public static func buildOptional(_ part: [any NavigationHandler]?) -> [any NavigationHandler] { part ?? [] }

    /// Those of the first branch.
    public static func buildEither(first part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Those of the other branch.
    public static func buildEither(second part: [any NavigationHandler]) -> [any NavigationHandler] { part }

    /// Those of each turn of a loop, in order.
    public static func buildArray(_ parts: [[any NavigationHandler]]) -> [any NavigationHandler] {
        parts.flatMap { $0 }
    }

    /// Those of an `if #available`.
    public static func buildLimitedAvailability(_ part: [any NavigationHandler]) -> [any NavigationHandler] { part }
}
