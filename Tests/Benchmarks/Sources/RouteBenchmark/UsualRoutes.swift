import Foundation

/// What people write today: Foundation takes the URL apart, and regular expressions are tried one after the other.
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
