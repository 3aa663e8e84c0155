import Foundation
import SignalboxRoutes

/// From the text of a URL to its route and its captures: Signalbox's table beside the usual way.
enum RouteTableRows {
    static func print(_ rounds: Rounds) throws {
        Swift.print("from text to route and captures, ns: Signalbox, URLComponents + a list of regular expressions")
        for size in [10, 1_000, 10_000] {
            let table = try RouteTable((0..<size).map { (pattern: try URLPattern(pattern($0)), value: $0) })
            let list = try UsualRoutes(size: size)
            // Spread over the table, so that the list is walked to its middle on average.
            let urls = (0..<100).map { url(($0 * 97 + 13) * size / 9_713 % size, number: $0) }
            let passes = max(1, 20_000 / urls.count)
            let usualPasses = size > 1_000 ? 1 : 10
            let own = rounds.medians(
                operations: passes * urls.count,
                [{ found(urls, passes) { table.match($0)?.value } }]
            )
            let usual = rounds.medians(operations: usualPasses * urls.count, [{ matched(urls, usualPasses, list) }])
            ParseTable.row("\(size) routes", own + usual)
        }
        try printLong(rounds)
    }

    /// A path of 50 KB against a pattern of 50 captures and a rest.
    private static func printLong(_ rounds: Rounds) throws {
        let captures = (0..<50).map { "{c\($0)}" }.joined(separator: "/")
        let table = try RouteTable([(pattern: try URLPattern("https://shop.example/\(captures)/{rest...}"), value: 1)])
        let path = String(repeating: "/segment-of-some-length", count: 50_000 / 23)
        let url = "https://shop.example\(path)"
        let expression = try NSRegularExpression(
            pattern: "^" + String(repeating: "/([^/]+)", count: 50) + "/(.*)$"
        )
        let times = rounds.medians(
            operations: 20,
            [
                { found([url], 20) { table.match($0)?.captures.count } },
                {
                    (0..<20).reduce(0) { sum, _ in
                        guard let path = URLComponents(string: url)?.path else { return sum }
                        let match = expression.firstMatch(in: path, range: NSRange(path.startIndex..., in: path))
                        return sum &+ (match?.numberOfRanges ?? 0)
                    }
                },
            ]
        )
        ParseTable.row("a path of \(path.utf8.count) bytes, 50 captures and a rest", times)
    }

    private static func pattern(_ number: Int) -> String { "myapp://section\(number)/{id:int}/{name}" }
    private static func url(_ section: Int, number: Int) -> String {
        "myapp://section\(section)/\(number)/name-\(number)"
    }

    private static func found(_ urls: [String], _ passes: Int, _ route: (URLText) -> Int?) -> Int {
        var sum = 0
        for _ in 0..<passes {
            for text in urls {
                guard let url = try? URLText(text), let value = route(url) else {
                    preconditionFailure("no route for \(text)")
                }
                sum &+= value
            }
        }
        return sum
    }

    private static func matched(_ urls: [String], _ passes: Int, _ list: UsualRoutes) -> Int {
        var sum = 0
        for _ in 0..<passes {
            for text in urls {
                guard let value = list.match(text) else { preconditionFailure("no route for \(text)") }
                sum &+= value
            }
        }
        return sum
    }
}
