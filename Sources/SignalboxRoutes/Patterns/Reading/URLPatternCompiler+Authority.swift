extension URLPatternCompiler {
    /// - Returns: where the segments begin.
    mutating func readAuthority(of scheme: String, _ range: Range<Int>) throws(RoutePatternError) -> Int {
        let end = bytes[range].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
        let authority = range.lowerBound..<end
        let port: UInt16?
        if bytes[authority].contains(where: CaptureSyntax.isBrace) {
            port = try readHostCapture(of: scheme, authority)
        } else {
            port = try readHost(of: scheme, authority)
        }
        root = RouteRoot(form: .authority, scheme: scheme, port: port)
        return min(end + 1, range.upperBound)
    }

    /// Reads the host as the URLs' hosts are read, and so in the same form.
    private mutating func readHost(of scheme: String, _ authority: Range<Int>) throws(RoutePatternError) -> UInt16? {
        let kind = URLScheme(scheme.utf8)
        guard !authority.isEmpty || kind == .file || kind == .other else {
            throw RoutePatternError(.missingHost, at: authority.lowerBound, "a host expected behind \(scheme)://")
        }
        let url = try readURL(authority, behind: scheme + "://")
        elements.append(.literal((url.host ?? "").lowercased()))
        return url.port
    }

    private mutating func readHostCapture(
        of scheme: String,
        _ authority: Range<Int>
    ) throws(RoutePatternError) -> UInt16? {
        guard URLScheme(scheme.utf8) == .other else {
            let detail = "\(scheme) needs a host that is written out: a capture would accept any site"
            throw RoutePatternError(.anyHost, at: authority.lowerBound, detail)
        }
        let end = (bytes[authority].lastIndex(of: UInt8(ascii: "}")) ?? authority.lowerBound) + 1
        let kind = try addCapture(authority.lowerBound..<end)
        guard kind == .text || kind == .rest else {
            let detail = "a host is {name} or {name...}, without a kind"
            throw RoutePatternError(.kindNotAllowed, at: authority.lowerBound, detail)
        }
        guard end < authority.upperBound else { return nil }
        if kind == .rest { throw restNotLast(authority.lowerBound) }
        guard bytes[end] == UInt8(ascii: ":") else { throw captureNotAlone(authority.lowerBound) }
        return try readURL(end..<authority.upperBound, behind: scheme + "://h").port
    }

    private func readURL(_ range: Range<Int>, behind start: String) throws(RoutePatternError) -> URLText {
        do throws(URLTextError) {
            return try URLText(start + String(decoding: bytes[range], as: UTF8.self) + "/")
        } catch {
            let reason: RoutePatternError.Reason = error.reason == .invalidPort ? .invalidPort : .invalidHost
            let offset = range.lowerBound + max(0, error.offset - start.utf8.count)
            throw RoutePatternError(reason, at: min(offset, range.upperBound), error.detail)
        }
    }
}
