import Yams

/// A file in which one of two equal keys has another name of the same length, so that the rest of it can be read.
struct DuplicateKeyMask {
    /// The whole file.
    let text: String
    /// The name that the key has in it: characters for private use, of which no key consists.
    let key: String

    /// - Parameters:
    ///   - key: the key that is written twice.
    ///   - mark: where the first of the two begins.
    ///   - number: how many keys of the file were masked before, below 1,000.
    /// - Returns: `nil` when the key is not written there as it reads, as with escapes in it.
    init?(of key: String, at mark: Mark, number: Int, in text: String) {
        var scalars = Array(text.unicodeScalars)
        let wanted = Array(key.unicodeScalars)
        guard let line = DuplicateKeyMask.start(ofLine: mark.line, in: scalars), !wanted.isEmpty, mark.column >= 1,
            let first = Unicode.Scalar(0xE000 + UInt32(number)), let filler = Unicode.Scalar(0xF8FF as UInt32)
        else { return nil }
        var start = line + mark.column - 1
        if start < scalars.count, ["'", "\""].contains(scalars[start]) { start += 1 }
        guard start + wanted.count <= scalars.count, scalars[start..<(start + wanted.count)].elementsEqual(wanted)
        else {
            return nil
        }
        let mask = [first] + repeatElement(filler, count: wanted.count - 1)
        scalars.replaceSubrange(start..<(start + wanted.count), with: mask)
        self.key = DuplicateKeyMask.string(mask)
        self.text = DuplicateKeyMask.string(scalars)
    }

    private static func start(ofLine line: Int, in scalars: [Unicode.Scalar]) -> Int? {
        guard line > 1 else { return line == 1 ? 0 : nil }
        var seen = 1
        for (position, scalar) in scalars.enumerated() where scalar == "\n" {
            seen += 1
            if seen == line { return position + 1 }
        }
        return nil
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
