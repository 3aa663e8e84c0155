/// The calls of one handler that have not returned: shared by all chains made from one another.
actor HandlerCalls {
    private var running = 0

    /// - Returns: `false` when there are too many already.
    func begin() -> Bool {
        guard running < NavigationRouter.maximumCalls else { return false }
        running += 1
        return true
    }

    func end() {
        running -= 1
    }

    /// Asks a handler that does not wait. Not asynchronous itself, so that `decide` is the form that is not.
    static func ask(_ handler: any SyncNavigationHandler, _ request: NavigationRequest) -> NavigationAnswer {
        do {
            return try handler.decide(request).map(NavigationAnswer.decided) ?? .notMine
        } catch {
            return failure(error)
        }
    }

    static func ask(_ handler: any NavigationHandler, _ request: NavigationRequest) async -> NavigationAnswer {
        do {
            return try await handler.decide(request).map(NavigationAnswer.decided) ?? .notMine
        } catch {
            return failure(error)
        }
    }

    private static func failure(_ error: any Error) -> NavigationAnswer {
        .failed(LineText.line("\(type(of: error)): \(error)"))
    }
}
