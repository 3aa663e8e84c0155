import Foundation
import SignalboxCore
import Testing

/// Foundation and Signalbox over the same documents: they agree, or differ by an intended difference.
@Suite(.enabled(if: IntendedDifference.isMeasuredHere)) struct DifferentialTests {
    private static let documents = 3_000

    @Test(arguments: 1...5)
    func documentsAreReadAlikeSaveForIntendedDifferences(seed: UInt64) async {
        var generator = DocumentGenerator(seed: seed)
        let found = await survey(DocumentComparison.trees, seed: seed) { generator.document() }
        let expected: Set<IntendedDifference> = [
            .repeatedName, .equalNames, .trailingComma, .byteOrderMark, .otherEncoding, .inexactInteger, .hugeNumber,
            .longNumber,
        ]
        #expect(Set(found.keys) == expected, "seed \(seed)")
    }

    @Test(arguments: 1...5)
    func infosAreDecodedAlikeSaveForIntendedDifferences(seed: UInt64) async {
        var generator = DocumentGenerator(seed: seed)
        let found = await survey(DocumentComparison.infos, seed: seed) { TypedInfo.document(&generator) }
        let expected: Set<IntendedDifference> = [
            .repeatedName, .trailingComma, .inexactInteger, .fractionAsInteger, .unaskedFault, .tinyNumber,
        ]
        #expect(Set(found.keys).isSuperset(of: expected), "seed \(seed)")
    }

    /// - Returns: how many documents differ by each intended difference.
    private func survey<Value>(
        _ comparison: DocumentComparison<Value>,
        seed: UInt64,
        next: () -> [UInt8]
    ) async -> [IntendedDifference: Int] {
        var found: [IntendedDifference: Int] = [:]
        var read = 0
        for number in 0..<DifferentialTests.documents {
            // Others have calls in progress, which are not to be overdue.
            if number.isMultiple(of: 8) { await Task.yield() }
            let document = next()
            if (try? comparison.signalbox(document)) != nil { read += 1 }
            guard let differences = comparison.differences(document) else {
                Issue.record(
                    "seed \(seed), document \(number): \(String(reflecting: String(decoding: document, as: UTF8.self)))"
                )
                continue
            }
            for difference in Set(differences) { found[difference, default: 0] += 1 }
        }
        // Both kinds of answer are compared often.
        #expect(
            (DifferentialTests.documents / 10...DifferentialTests.documents * 9 / 10).contains(read),
            "\(read) read"
        )
        return found
    }
}
