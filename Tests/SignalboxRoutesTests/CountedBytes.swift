/// Bytes that count how often each of them is read.
struct CountedBytes: Collection {
    final class Reads {
        var counts: [Int]

        init(count: Int) {
            counts = Array(repeating: 0, count: count)
        }
    }

    let bytes: [UInt8]
    let reads: Reads

    init(_ text: String) {
        bytes = Array(text.utf8)
        reads = Reads(count: bytes.count)
    }

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }

    func index(after position: Int) -> Int { position + 1 }

    subscript(position: Int) -> UInt8 {
        reads.counts[position] += 1
        return bytes[position]
    }

    /// The reads of the byte that was read most often.
    var mostReads: Int { reads.counts.max() ?? 0 }
}
