import NavigationChain
import SignalboxRoutes

/// From the text of a URL to a verdict through ten handlers, of which the last decides.
enum VerdictTable {
    static func print(_ rounds: Int) async throws {
        Swift.print("a verdict through 10 handlers, reading included, ns")
        let first = try SchemeHandler(allowing: ["https", "myapp"])
        let looking = try (0..<8).map { try HostHandler(hosts: ["other\($0).example"], name: "host\($0)") }
        let last = try HostHandler(hosts: ["shop.example"], name: "shop")
        let router = try NavigationRouter([first] + looking + [last], fallback: .cancel("not ours"))
        var times: [Double] = []
        let count = 5_000
        for _ in 0..<rounds {
            let began = ContinuousClock.now
            for _ in 0..<count {
                let verdict = await router.decide("https://shop.example/product/42", kind: .link, frame: .main)
                precondition(verdict.decider == "shop")
            }
            times.append((ContinuousClock.now - began) / .nanoseconds(count))
        }
        ParseTable.row("handlers that only look", [times.sorted()[times.count / 2]])
    }
}
