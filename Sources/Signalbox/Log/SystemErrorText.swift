#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The texts of strerror(3) and gai_strerror(3). None of them is a secret.
enum SystemErrorText {
    /// The texts by their first byte, so that few have to be compared.
    private static let texts = Dictionary(grouping: all) { $0.first }

    /// Every text that this system has. Linux has the error numbers 1 to 133, and other systems have fewer. The numbers of
    /// gai_strerror(3) are negative on Linux, and positive on Darwin.
    private static var all: Set<[UInt8]> {
        // The next call may free the text of an unknown number, so each text is copied at once.
        let system = (1...133).compactMap { number in strerror(number).map { Array(String(cString: $0).utf8) } }
        let names = (-105...16).compactMap { number in gai_strerror(number).map { Array(String(cString: $0).utf8) } }
        return Set(system + names).filter { !$0.isEmpty && !$0.starts(with: "Unknown error".utf8) }
    }

    /// Returns whether one of the texts starts at a position.
    static func starts(_ text: UnsafeRawBufferPointer, at position: Int) -> Bool {
        guard let first = text.byte(at: position), let candidates = texts[first] else { return false }
        return candidates.contains { known in
            guard text[position...].starts(with: known) else { return false }
            return !(text.byte(at: position + known.count)?.isInWord ?? false)
        }
    }
}
