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

/// Compares what two readers make of a document, and says by which intended differences they differ.
struct DocumentComparison<Value: Equatable> {
    /// `nil` when it refuses.
    let foundation: ([UInt8]) -> Value?
    let signalbox: ([UInt8]) throws(BodyError) -> Value
    /// Whether a reader with this answer may have passed over a value that is no JSON.
    let isLazy: Bool

    /// - Returns: no difference when both agree, `nil` when they differ by something that is not intended.
    func differences(_ document: [UInt8], mostRepairs: Int = 40) -> [IntendedDifference]? {
        let theirs = foundation(document)
        let repair: DocumentRepair?
        do throws(BodyError) {
            let ours = try signalbox(document)
            guard theirs != ours else { return [] }
            repair = theirs == nil ? DocumentRepair.accepted(document) : DocumentRepair.differing(document)
        } catch {
            guard theirs != nil else { return [] }
            let known = DocumentRepair.refused(document, because: error)
            repair = known ?? (isLazy ? DocumentRepair.unasked(document, because: error) : nil)
        }
        guard let repair, mostRepairs > 0, repair.document != document else { return nil }
        return differences(repair.document, mostRepairs: mostRepairs - 1).map { [repair.difference] + $0 }
    }
}

extension DocumentComparison<JSONForm> {
    /// `JSONSerialization` and the reader.
    static var trees: DocumentComparison {
        DocumentComparison(foundation: JSONForm.foundation, signalbox: JSONForm.signalbox, isLazy: false)
    }
}

/// The comparison itself: what is planted into a reader must be found.
@Suite struct DocumentComparisonTests {
    @Test(
        .enabled(if: IntendedDifference.isMeasuredHere),
        arguments: [
            (#"{"a":1,"a":2}"#, [IntendedDifference.repeatedName]), (#"{"a":1,"\u0061":2}"#, [.equalNames]),
            ("\u{FEFF}[1,]", [.byteOrderMark, .trailingComma]), ("[1e400,-1e400]", [.hugeNumber, .hugeNumber]),
            ("[9007199254740993]", [.inexactInteger]), ("[14061.220054259505]", [.longNumber]), ("[1,2]", []),
            ("[01]", []),
            (#"{"a":[1,],"b":{"x":1,"x":1,"x":2}}"#, [.trailingComma, .repeatedName, .repeatedName]),
        ]
    )
    func whatDiffersIsNamed(_ text: String, expected: [IntendedDifference]) {
        #expect(DocumentComparison.trees.differences(Array(text.utf8)) == expected)
    }

    @Test func aReaderThatIsTooLaxIsFound() {
        let lax = planted { document, answer in
            guard document.starts(with: Array("//".utf8)) else { return answer }
            return .success(.null)
        }
        #expect(lax.differences(Array("// a comment".utf8)) == nil)
    }

    @Test func aReaderThatIsTooStrictIsFound() {
        let strict = planted { document, answer in
            document.contains(UInt8(ascii: "\t")) ? .failure(BodyError(.invalidSyntax, offset: 1)) : answer
        }
        #expect(strict.differences(Array("[\t1]".utf8)) == nil)
        #expect(strict.differences(Array("[ 1]".utf8)) == [])
    }

    @Test func aReaderThatBlamesTheWrongPlaceIsFound() {
        let wrong = planted { document, answer in answer.mapError { BodyError($0.code, offset: 0) } }
        #expect(wrong.differences(Array(#"{"a":1,"a":2}"#.utf8)) == nil)
        #expect(wrong.differences(Array("[1,]".utf8)) == nil)
    }

    @Test(
        arguments: [
            JSONForm.number(1, integer: nil), .number(nil, integer: "1"), .number(-1, integer: "1"), .text("1"), .null,
        ])
    func aReaderThatGivesAnotherValueIsFound(_ value: JSONForm) {
        let other = planted { _, _ in .success(.list([value])) }
        #expect(other.differences(Array("[1]".utf8)) == nil)
    }

    @Test func aReaderThatLosesAMemberIsFound() {
        let careless = planted { _, answer in
            answer.map { form in
                guard case .table(var table) = form else { return form }
                table["b"] = nil
                return .table(table)
            }
        }
        #expect(careless.differences(Array(#"{"a":1,"b":2}"#.utf8)) == nil)
    }

    private func planted(
        _ change: @escaping ([UInt8], Result<JSONForm, BodyError>) -> Result<JSONForm, BodyError>
    ) -> DocumentComparison<JSONForm> {
        DocumentComparison(
            foundation: JSONForm.foundation,
            signalbox: { document throws(BodyError) in
                let answer = Result { () throws(BodyError) in try JSONForm.signalbox(document) }
                return try change(document, answer).get()
            },
            isLazy: false
        )
    }
}

/// A JSON value as Foundation and Signalbox can both give it.
indirect enum JSONForm: Equatable {
    case null
    case bool(Bool)
    /// As `Double`, `nil` when the reader refuses to make one of it, and as the integer of 64 bits that it is.
    case number(Double?, integer: String?)
    case text(String)
    case list([JSONForm])
    case table([String: JSONForm])

    /// What `JSONSerialization` reads, or `nil` when it refuses.
    static func foundation(_ document: [UInt8]) -> JSONForm? {
        (try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)).map(JSONForm.init)
    }

    /// What Signalbox reads.
    ///
    /// - Throws: why it refuses.
    static func signalbox(_ document: [UInt8]) throws(BodyError) -> JSONForm {
        try Body(json: Bytes(document), limits: MessageLimits(bytes: 1 << 20, depth: 512)).decode(JSONForm.self)
    }

    private init(_ object: Any) {
        switch object {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .list(list.map(JSONForm.init))
        case let table as [String: Any]: self = .table(table.mapValues(JSONForm.init))
        case let number as NSNumber where JSONForm.isBool(number): self = .bool(number.boolValue)
        case let number as NSNumber:
            // The least integer of 64 bits comes as a decimal number.
            let isInteger = "iqQ".contains(JSONForm.type(number)) || number.stringValue == Int64.min.description
            self = .number(number.doubleValue, integer: isInteger ? number.stringValue : nil)
        default: self = .null
        }
    }

    private static func type(_ number: NSNumber) -> Character {
        Character(Unicode.Scalar(UInt8(bitPattern: number.objCType.pointee)))
    }

    private static func isBool(_ number: NSNumber) -> Bool { "cB".contains(type(number)) }
}

extension JSONForm: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSONForm].self) {
            self = .list(list)
        } else if let table = try? value.decode([String: JSONForm].self) {
            self = .table(table)
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else {
            let signed = (try? value.decode(Int64.self))?.description
            let integer = signed ?? (try? value.decode(UInt64.self))?.description
            self = .number(try? value.decode(Double.self), integer: integer)
        }
    }
}
