import AdapterSupport
import SignalboxCore
import Synchronization

/// The arguments of this process, with every byte kept.
///
/// `CommandLine.arguments` replaces bytes that are not UTF-8 with U+FFFD, so the original bytes are lost. Here, each of
/// these bytes becomes two of the 32 noncharacters U+FDD0 to U+FDEF, which Unicode reserves for use inside a program:
/// one for the upper four bits, one for the lower four. A noncharacter that an argument contains is escaped in the same
/// way, so ``bytes(of:)`` always returns the original. Text that contains none of them is not changed.
///
/// ``CommandTable/refusal(of:)`` refuses such arguments where text is expected. Where bytes or a file name are expected,
/// the escaped text is passed on. Code that sends the bytes calls ``bytes(of:)``, code that opens the file ``path(_:)``,
/// and code that passes the file's name to a library ``textPath(_:)``.
enum RawArguments {
    private static let upper: ClosedRange<UInt32> = 0xFDD0...0xFDDF
    private static let lower: ClosedRange<UInt32> = 0xFDE0...0xFDEF

    /// The arguments after the program's name.
    static let process: [String] = (1..<max(1, Int(CommandLine.argc))).compactMap { index in
        guard let start = CommandLine.unsafeArgv[index] else { return nil }
        return start.withMemoryRebound(to: UInt8.self, capacity: 1) { start in
            var length = 0
            while start[length] != 0 { length += 1 }
            return escaped(Array(UnsafeBufferPointer(start: start, count: length)))
        }
    }

    /// Whether an argument of this process is escaped.
    static let areEscaped = process.contains { isEscaped($0) }

    /// Returns the text for an argument.
    static func escaped(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !isEscaped(text) { return text }
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while !rest.isEmpty {
            var parser = UTF8.ForwardParser()
            var iterator = rest.makeIterator()
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                let scalar = UTF8.decode(encoded)
                if isReserved(scalar) { encoded.forEach { append($0, to: &text) } } else { text.append(scalar) }
                rest = rest.dropFirst(encoded.count)
            case .error(let length):
                rest.prefix(length).forEach { append($0, to: &text) }
                rest = rest.dropFirst(max(1, length))
            case .emptyInput: rest = []
            }
        }
        return String(text)
    }

    /// Whether the argument contains bytes that are not UTF-8, or noncharacters.
    static func isEscaped(_ text: String) -> Bool {
        text.unicodeScalars.contains { isReserved($0) }
    }

    /// Returns the original bytes of an argument.
    static func bytes(of text: String) -> [UInt8] {
        guard isEscaped(text) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        forEachPart(of: text) { scalar in
            bytes += UTF8.encode(scalar).map { Array($0) } ?? []
        } byte: { byte in
            bytes.append(byte)
        }
        return bytes
    }

    /// Returns a file name for a system call such as `open(2)`, with the terminating zero.
    static func path(_ text: String) -> [CChar] {
        bytes(of: text).map { CChar(bitPattern: $0) } + [0]
    }

    /// The descriptors that ``textPath(_:)`` opened. Only arguments are names of this kind, so there are few.
    private static let descriptors = Mutex<[String: Int32]>([:])

    /// Returns a path for a library, because libraries take file names as text. A name that is not UTF-8 becomes the path
    /// of a descriptor that stays open, so it always names the file or folder that exists at the first call.
    static func textPath(_ text: String) -> String {
        guard isEscaped(text) else { return text }
        return descriptors.withLock { known in
            // O_NONBLOCK: Opening a FIFO must not wait for its writer.
            let number = known[text] ?? open(path(text), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            // The library reports why the file cannot be opened.
            guard number >= 0 else { return text }
            known[text] = number
            return "/dev/fd/\(number)"
        }
    }

    /// Returns the argument for a message: each escaped byte is shown as `\xHH`.
    static func shown(_ text: String) -> String {
        guard isEscaped(text) else { return text }
        var shown = ""
        forEachPart(of: text) { scalar in
            shown.unicodeScalars.append(scalar)
        } byte: { byte in
            let digits = String(byte, radix: 16)
            shown += "\\x" + (digits.count == 1 ? "0" : "") + digits
        }
        return shown
    }

    private static func isReserved(_ scalar: Unicode.Scalar) -> Bool {
        (upper.lowerBound...lower.upperBound).contains(scalar.value)
    }

    private static func append(_ byte: UInt8, to text: inout String.UnicodeScalarView) {
        for value in [upper.lowerBound + UInt32(byte >> 4), lower.lowerBound + UInt32(byte & 0xF)] {
            if let scalar = Unicode.Scalar(value) { text.append(scalar) }
        }
    }

    private static func forEachPart(
        of text: String,
        scalar: (Unicode.Scalar) -> Void,
        byte: (UInt8) -> Void
    ) {
        var first: Unicode.Scalar?
        for next in text.unicodeScalars {
            if let high = first.take(), lower.contains(next.value) {
                byte(UInt8((high.value - upper.lowerBound) << 4 | (next.value - lower.lowerBound)))
            } else if upper.contains(next.value) {
                first = next
            } else {
                scalar(next)
            }
        }
    }
}
