@testable import JSBridge

/// The ranges of a text's records lie within it, and the reader reaches its end.
enum RelayTarget {
    static func run(_ input: [UInt8]) {
        input.withUnsafeBytes { bytes in
            var reader = RelayReader(bytes)
            guard (try? reader.header()) != nil else { return }
            var count = 0
            while let record = try? reader.record() {
                count += 1
                require(count <= input.count, "each record takes bytes")
                for place in places(record) {
                    require(place.lowerBound >= 0 && place.upperBound <= input.count, "a place in the text")
                }
            }
        }
    }

    private static func places(_ record: RelayRecord) -> [Range<Int>] {
        switch record {
        case .hello, .full, .withheld: []
        case .call(_, _, _, let handler, let json): [handler, json]
        case .answer(_, _, let text): [text]
        case .warn(let text), .error(let text): [text]
        }
    }
}
