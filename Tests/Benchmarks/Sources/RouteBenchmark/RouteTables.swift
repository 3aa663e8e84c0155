import Foundation
import MarkdownTable
import NavigationChain
import SignalboxRoutes

/// Compares Signalbox's table with the usual approach, from the text of a URL to its route and captures.
enum RouteTableRows {
    static func print(_ rounds: Rounds) throws {
        let columns = ["ns a URL", "`URLText` and `RouteTable`", "`URLComponents` and regular expressions", "times"]
        var markdown = MarkdownTable("routes", columns: columns)
        for size in [10, 1_000, 10_000] {
            let table = try RouteTable((0..<size).map { (pattern: try URLPattern(pattern($0)), value: $0) })
            let list = try UsualRoutes(size: size)
            // Spread over the table, so that a search of the list scans half of it on average.
            let urls = (0..<100).map { url(($0 * 97 + 13) * size / 9_713 % size, number: $0) }
            let passes = max(1, 20_000 / urls.count)
            let usualPasses = size > 1_000 ? 1 : 10
            let own = rounds.medians(
                operations: passes * urls.count,
                [{ found(urls, passes) { table.match($0)?.value } }]
            )
            let usual = rounds.medians(operations: usualPasses * urls.count, [{ matched(urls, usualPasses, list) }])
            markdown.add(cells("\(Figure.whole(Double(size))) routes", own[0], usual[0]))
        }
        markdown.add(try cellsOfLongPath(rounds))
        markdown.print()
    }

    /// A path of 50 KB against a pattern of 50 captures and a rest.
    private static func cells(_ name: String, _ own: Double, _ usual: Double) -> [String] {
        [name, Figure.whole(own), Figure.whole(usual), Figure.ratio(usual / own)]
    }

    private static func cellsOfLongPath(_ rounds: Rounds) throws -> [String] {
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
        return cells("a path of 50 KB, 50 captures and a rest", times[0], times[1])
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

/// Measures parsing a URL alone.
enum ParseTable {
    static let urls = [
        "myapp://product/42?ref=mail",
        "https://shop.example/product/42/reviews?page=2&sort=new#top",
        "https://www.shop.example:8443/a/b/c/../d/e.html?q=caf%C3%A9",
    ]

    /// - Parameter others: The times of another parser for the same URLs; empty if it was not measured.
    static func print(_ rounds: Rounds, others: [Double]) {
        let more = others.isEmpty ? [] : ["ada-url from Python"]
        var table = MarkdownTable("urls", columns: ["ns a URL", "`URLText`", "`URLComponents`"] + more)
        for (number, url) in urls.enumerated() {
            let count = 20_000
            let times = rounds.medians(
                operations: count,
                [
                    { (0..<count).reduce(0) { sum, _ in sum &+ ((try? URLText(url))?.path.utf8.count ?? 0) } },
                    { (0..<count).reduce(0) { sum, _ in sum &+ (URLComponents(string: url)?.path.utf8.count ?? 0) } },
                ]
            )
            table.add(["`\(url)`"] + (times + others.dropFirst(number).prefix(1)).map(Figure.whole))
        }
        table.print()
    }
}

/// Measures a verdict on the text of a URL by ten handlers, of which the last decides.
enum VerdictTable {
    static func print(_ rounds: Int) async throws {
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
        var table = MarkdownTable("verdict", columns: ["verdict on a URL", "ns"])
        table.add(["10 handlers that only inspect the URL, parsing included", Figure.whole(Figure.median(times))])
        table.print()
    }
}

/// The usual approach: Foundation parses the URL, and regular expressions are tried one after the other.
struct UsualRoutes {
    private let expressions: [(expression: NSRegularExpression, value: Int)]

    init(size: Int) throws {
        expressions = try (0..<size).map {
            (try NSRegularExpression(pattern: "^section\($0)/(-?[0-9]+)/([^/]+)$"), $0)
        }
    }

    func match(_ text: String) -> Int? {
        guard let components = URLComponents(string: text), components.scheme == "myapp", let host = components.host
        else {
            return nil
        }
        let path = host + components.path
        let range = NSRange(path.startIndex..., in: path)
        for (expression, value) in expressions {
            guard let match = expression.firstMatch(in: path, range: range) else { continue }
            let captures = (1..<match.numberOfRanges).compactMap {
                Range(match.range(at: $0), in: path).map { path[$0] }
            }
            return captures.count == 2 ? value : nil
        }
        return nil
    }
}

/// Runs all variants in each round, so that a temporary load on the machine slows all of them.
struct Rounds {
    let count: Int

    /// Returns the median time per operation of each variant, in nanoseconds.
    ///
    /// - Parameter operations: The number of operations in one call of a variant.
    func medians(operations: Int, _ variants: [() -> Int]) -> [Double] {
        var times = variants.map { _ in [Double]() }
        for variant in variants { sum &+= variant() }
        for _ in 0..<count {
            for (place, variant) in variants.enumerated() {
                let began = ContinuousClock.now
                sum &+= variant()
                times[place].append((ContinuousClock.now - began) / .nanoseconds(operations))
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }
}

// The sum of the variants' results, which keeps the compiler from removing the measured work. Used only by the
// measuring thread.
nonisolated(unsafe) var sum = 0
