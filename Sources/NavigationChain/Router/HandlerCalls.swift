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
}
