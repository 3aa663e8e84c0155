/// Unguessable texts and bytes from the system's random number generator.
enum RandomText {
    static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }

    /// Returns twice as many digits as bytes.
    static func hexadecimal(bytes count: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
