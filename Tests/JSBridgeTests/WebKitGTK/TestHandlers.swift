#if WebKitGTK
import NavigationChain
import SignalboxRoutes
import SignalboxTesting

/// Cancels what has one of some words in its URL.
struct RefusingHandler: SyncNavigationHandler {
    let name = "refusing"
    let words: [String]

    func decide(_ request: NavigationRequest) -> NavigationDecision? {
        words.contains { request.url.text.contains($0) } ? .cancel("a word in it is refused") : nil
    }
}

/// Lets what has a word in its URL wait at a gate.
struct HoldingHandler: NavigationHandler {
    let name = "holding"
    let word: String
    let gate: Gate
    var deadline: Duration? { .seconds(600) }

    func concerns(_ request: NavigationRequest) -> Bool { request.url.text.contains(word) }

    func decide(_ request: NavigationRequest) async -> NavigationDecision? {
        if concerns(request) { await gate.pass() }
        return nil
    }
}

extension NavigationRouter {
    /// Allows what has none of the words in its URL.
    static func refusing(_ words: String...) throws -> NavigationRouter {
        try NavigationRouter([RefusingHandler(words: words)], fallback: .allow("a test"))
    }

    /// Allows everything, but what has the word in its URL waits at the gate.
    static func holding(_ word: String, at gate: Gate) throws -> NavigationRouter {
        try NavigationRouter([HoldingHandler(word: word, gate: gate)], fallback: .allow("a test"))
    }
}
#endif
