import AdapterSupport
package import SignalboxCore
package import SignalboxRoutes

/// A request as a tool describes it.
package struct ExplainedRequest {
    let path: String
    let contentType: String
    let principal: String?
    let origin: WebOrigin?
    let isSecure: Bool

    /// - Parameters:
    ///   - path: The path and the query, percent-encoded.
    ///   - contentType: The header `Content-Type`.
    package init(path: String, contentType: String, principal: String?, origin: WebOrigin?, isSecure: Bool) {
        self.path = path
        self.contentType = contentType
        self.principal = principal
        self.origin = origin
        self.isSecure = isSecure
    }

    fileprivate var halves: (path: String, query: String?) {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : nil)
    }

    fileprivate var facts: HTTPActionFacts {
        var facts = HTTPActionFacts(method: "POST", path: halves.path, peer: "127.0.0.1", origin: origin, tls: isSecure)
        facts.query = halves.query
        facts.contentType = MediaType.essence(contentType)
        facts.principal = principal
        return facts
    }
}

extension HTTPActionConfiguration {
    /// Returns the arrival that a request would become. This method delivers and records nothing.
    package func arrival(of body: [UInt8], _ request: ExplainedRequest) -> Arrival? {
        guard let routes = try? HTTPActionRoutes(routes, source: source) else { return nil }
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        let message = RequestReader.Message(facts: request.facts, body: body)
        let ticket = RequestReader.Ticket(token: 0, receivedAt: .now())
        RequestReader(source: source, routes: routes, limits: limits).append(message, ticket, to: &batch)
        return batch.take().first
    }

    /// Returns the pattern of the route that a request would take, or `nil` if none matches.
    package func route(of request: ExplainedRequest) -> String? {
        (try? HTTPActionRoutes(routes, source: source))?.route(for: request.halves.path)?.pattern.text
    }
}
