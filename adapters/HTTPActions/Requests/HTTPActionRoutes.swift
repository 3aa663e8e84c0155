import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// The compiled routes of a source of HTTP requests.
struct HTTPActionRoutes: Sendable {
    /// What the path and the query of a request say about its action.
    struct Match {
        let naming: RouteNaming
        let payload: HTTPActionPayload
        /// The query with the items that the route reads, percent-encoded.
        let query: String?
        /// The number of items of the query that cannot be read.
        var unreadableItems = 0
    }

    /// The maximum number of routes.
    static let limit = 1_000
    /// The maximum number of items of a query or a form that become members.
    static let itemLimit = 64

    private let table: RouteTable<HTTPActionRoute>

    /// - Throws: ``HTTPActionError`` `invalidConfiguration` if a route is invalid, or if two match the same paths.
    init(_ routes: [HTTPActionRoute], source: SourceName) throws(HTTPActionError) {
        func invalid(_ detail: String) -> HTTPActionError {
            HTTPActionError(.invalidConfiguration, detail, source: source)
        }
        guard (1...HTTPActionRoutes.limit).contains(routes.count) else {
            throw invalid("a source of HTTP requests must have 1 to \(HTTPActionRoutes.limit) routes")
        }
        for route in routes {
            let shown = "route \(route.pattern.text.debugDescription)"
            guard route.pattern.scheme == nil else {
                throw invalid("\(shown) names a scheme; begin it with / and the path")
            }
            guard route.action == nil || !route.pattern.captureNames.contains("action") else {
                throw invalid("\(shown): use {action} or a fixed action, not both")
            }
        }
        do throws(RoutePatternError) {
            table = try RouteTable(routes.map { ($0.pattern, $0) })
        } catch {
            throw invalid("routes of HTTP requests: \(error.detail)")
        }
    }

    /// Returns whether a route matches a path.
    ///
    /// - Parameter path: The path, percent-encoded.
    func matches(_ path: String) -> Bool { route(for: path) != nil }

    /// Returns the best route for a path, or `nil` if none matches.
    func route(for path: String) -> (pattern: URLPattern, url: URLText)? {
        guard let url = try? URLText(HTTPActionRoutes.base + path), let found = table.match(url) else { return nil }
        return (found.pattern, url)
    }

    /// Returns what the best route says about a request, or `nil` if none matches.
    ///
    /// - Parameters:
    ///   - path: The path, percent-encoded.
    ///   - query: The query, percent-encoded.
    /// - Throws: The rejection `malformed` if the path or the query cannot be read.
    func match(_ path: String, query: String?) throws(Outcome.Rejection) -> Match? {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(HTTPActionRoutes.base + path + (query.map { "?\($0)" } ?? ""))
        } catch {
            throw Outcome.Rejection(.malformed, detail: "the path or the query cannot be read: \(error)")
        }
        guard let found = table.match(url) else { return nil }
        let (items, unreadable) = try items(of: url, found)
        let captures = found.captures.map { RouteNaming.Capture(name: $0.name, value: $0.value) }
        let naming = try RouteNaming(captures + items, action: found.value.action, of: "path")
        return Match(naming: naming, payload: found.value.payload, query: query, unreadableItems: unreadable)
    }

    private static let base = "http://signalbox"

    /// Returns the items of the query that become members.
    private func items(
        of url: URLText,
        _ found: RouteMatch<HTTPActionRoute>
    ) throws(Outcome.Rejection) -> ([RouteNaming.Capture], unreadable: Int) {
        do throws(URLTextError) {
            if !found.pattern.queryCaptures.isEmpty {
                let values = try found.pattern.queryValues(of: url)
                return (values.map { RouteNaming.Capture(name: $0.name, value: $0.value) }, 0)
            }
            let query = try url.readableQuery()
            let names = Set(found.captures.map(\.name))
            return (try FieldList.captures(of: query, without: names), query.unreadable)
        } catch {
            throw Outcome.Rejection(.malformed, detail: "the query cannot be read: \(error)")
        }
    }
}

/// The fields of a form or a query as members of a body.
enum FieldList {
    /// The maximum length of a name, in bytes.
    static let nameLimit = 256

    /// Returns one member for each name, in order. A name that is repeated becomes a list.
    ///
    /// - Parameter names: The names that are taken already. The names `action` and `id` have no special meaning here and are
    ///   left to the path.
    static func captures(
        of query: ReadableQuery,
        without names: Set<String>
    ) throws(URLTextError) -> [RouteNaming.Capture] {
        var order: [String] = []
        var values: [String: [String]] = [:]
        var count = 0
        for item in query.items where !names.contains(item.name) && !reserved.contains(item.name) {
            if values[item.name] == nil { order.append(item.name) }
            count += 1
            guard count <= HTTPActionRoutes.itemLimit else {
                throw URLTextError(.tooManyItems, at: 0, "expected at most \(HTTPActionRoutes.itemLimit) fields")
            }
            guard item.name.utf8.count <= nameLimit else {
                throw URLTextError(.tooLong, at: 0, "expected a name of at most \(nameLimit) bytes")
            }
            values[item.name, default: []].append(item.value)
        }
        return order.compactMap { name in
            guard let texts = values[name], let first = texts.first else { return nil }
            let isList = texts.count > 1 || query.namesOfUnreadable.contains(name)
            return RouteNaming.Capture(name: name, value: first, moreValues: Array(texts.dropFirst()), isList: isList)
        }
    }

    /// Otherwise, anyone who can add to a query could choose another action than the path does.
    private static let reserved: Set<String> = ["action", "id"]
}

/// Encodes what the library has decoded, so that it can be read as a URL.
enum PathEncoding {
    static func path(_ decoded: String) -> String { encoded(decoded, keeping: "/") }

    /// Returns a query from its decoded parts, or `nil` if there are none.
    static func query(_ parts: [String]) -> String? {
        guard !parts.isEmpty else { return nil }
        return parts.map { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return halves.map { encoded(String($0), keeping: "") }.joined(separator: "=")
        }.joined(separator: "&")
    }

    private static func encoded(_ text: String, keeping kept: String) -> String {
        if text.utf8.allSatisfy({ isUnreserved($0) || kept.utf8.contains($0) }) { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) || kept.utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
