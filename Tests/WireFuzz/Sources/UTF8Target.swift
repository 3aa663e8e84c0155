@testable import WebSocketChat

/// A text in pieces is UTF-8 exactly when the standard library accepts the whole.
enum UTF8Target {
    static func run(_ input: [UInt8]) {
        let isText = String(validating: input, as: UTF8.self) != nil
        require(input.withUnsafeBytes(UTF8Stream.isText) == isText, "the whole")
        let size = Int(input.first ?? 0) % 9 + 1
        var stream = UTF8Stream()
        var isGood = true
        for start in stride(from: 0, to: input.count, by: size) where isGood {
            isGood = input[start..<min(start + size, input.count)].withUnsafeBytes { stream.take($0) }
        }
        require((isGood && stream.isComplete) == isText, "pieces of \(size)")
    }
}
