import Foundation
import SignalboxRoutes

/// Reading a URL, and nothing else.
enum ParseTable {
    static let urls = [
        "myapp://product/42?ref=mail",
        "https://shop.example/product/42/reviews?page=2&sort=new#top",
        "https://www.shop.example:8443/a/b/c/../d/e.html?q=caf%C3%A9",
    ]

    static func print(_ rounds: Rounds) {
        Swift.print("reading a URL, ns")
        for url in urls {
            let count = 20_000
            let times = rounds.medians(
                operations: count,
                [
                    { (0..<count).reduce(0) { sum, _ in sum &+ ((try? URLText(url))?.path.utf8.count ?? 0) } },
                    { (0..<count).reduce(0) { sum, _ in sum &+ (URLComponents(string: url)?.path.utf8.count ?? 0) } },
                ]
            )
            row(url, times)
        }
    }

    static func row(_ name: String, _ times: [Double]) {
        let figures = times.map { String(format: "%9.0f", $0) }.joined()
        Swift.print("  \(name.padding(toLength: 62, withPad: " ", startingAt: 0))\(figures)")
    }
}
