/// Texts and bytes that nobody can guess: from the system's random numbers.
enum RandomText {
    static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }

    /// Twice as many characters as bytes.
    static func hexadecimal(bytes count: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
