import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension HTTPActionConfiguration {
    /// Checks that every value is valid and that the values are consistent, without opening a file or a port.
    ///
    /// - Throws: ``HTTPActionError`` `invalidConfiguration` for the first invalid value. The error names the source and says
    ///   how to fix the problem.
    public func validate() throws(HTTPActionError) {
        _ = try HTTPActionRoutes(routes, source: source)
        try validateClients()
        guard (Duration.milliseconds(1) ... .seconds(3_600)).contains(roomTimeout) else {
            throw invalid("roomTimeout must be 1 ms to 1 h")
        }
        guard (1...1_000_000).contains(waiting) else { throw invalid("the waiting requests must be 1 to 1000000") }
        guard (0...1_000_000).contains(streams) else { throw invalid("the streams must be 0 to 1000000") }
        guard (Duration.seconds(1) ... .seconds(3_600)).contains(heartbeat) else {
            throw invalid("the heartbeat must be 1 s to 1 h")
        }
        guard (1...1 << 30).contains(limits.bytes) else {
            throw invalid("the limit of a message must be 1 byte to 1 GiB")
        }
    }

    private func validateClients() throws(HTTPActionError) {
        guard principals.count <= 10_000 else { throw invalid("a source can have at most 10000 principals") }
        guard signatures.count <= 100 else { throw invalid("a source can have at most 100 signatures") }
        guard addresses.count <= 1_000 else { throw invalid("a source can have at most 1000 ranges of addresses") }
        guard origins.count <= 1_000 else { throw invalid("a source can have at most 1000 origins") }
        var names: Set<String> = []
        for principal in principals where !names.insert(principal.name).inserted {
            throw invalid("two principals are named \(UntrustedText.quoted(principal.name)); give each its own name")
        }
        for name in principals.map(\.name) + signatures.map(\.principal) where !HTTPActionConfiguration.isName(name) {
            throw invalid("a principal's name must have 1 to 128 bytes without control characters")
        }
        for signature in signatures where !(Duration.seconds(1) ... .seconds(86_400)).contains(signature.tolerance) {
            throw invalid("the tolerance of a signature must be 1 s to 1 day")
        }
        guard isReachable else {
            throw invalid(
                "no client can send: add principals with tokens, or signatures, or allow anyone who reaches the port"
            )
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether any client can send.
    package var isReachable: Bool { allowsAnyone || !principals.isEmpty || !signatures.isEmpty }

    func invalid(_ detail: String) -> HTTPActionError {
        HTTPActionError(.invalidConfiguration, detail, source: source)
    }
}
