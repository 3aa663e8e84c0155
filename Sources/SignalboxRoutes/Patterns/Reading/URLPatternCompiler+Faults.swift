extension URLPatternCompiler {
    func restNotLast(_ offset: Int) -> RoutePatternError {
        RoutePatternError(.restNotLast, at: offset, "nothing but the query may follow {name...}")
    }

    func captureNotAlone(_ offset: Int) -> RoutePatternError {
        fault(.notAlone, at: offset)
    }

    func fault(_ fault: CaptureSyntax.Fault, at offset: Int) -> RoutePatternError {
        switch fault {
        case .notAlone:
            let detail = "a capture is a whole host, segment or value; a brace as text is written %7B or %7D"
            return RoutePatternError(.captureNotAlone, at: offset, detail)
        case .invalidName:
            let detail = "a capture's name is [A-Za-z][A-Za-z0-9_]*, at most \(URLPattern.maximumNameLength) bytes"
            return RoutePatternError(.invalidCaptureName, at: offset, detail)
        case .unknownKind:
            return RoutePatternError(.unknownKind, at: offset, "the kinds are {name:int} and {name:uuid}")
        }
    }
}
