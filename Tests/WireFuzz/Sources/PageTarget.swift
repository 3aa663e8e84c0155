@testable import BrowserBridge

/// The ranges of a page's message lie within it.
enum PageTarget {
    static func run(_ input: [UInt8]) {
        input.withUnsafeBytes { bytes in
            guard let frame = try? PageFrame(bytes) else { return }
            require(frame.json.lowerBound <= frame.json.upperBound, "the JSON's place")
            require(frame.json.upperBound == input.count, "the JSON reaches to the end")
            guard case .call(_, _, let handler?) = frame.kind else { return }
            require(
                handler.upperBound <= input.count && handler.lowerBound <= handler.upperBound,
                "the handler's place"
            )
        }
    }
}
