import Foundation
import SignalboxCore
import Testing

/// Foundation and Signalbox read the same documents. They agree, or differ by an intended difference.
@Suite(.enabled(if: IntendedDifference.isMeasuredHere)) struct DifferentialTests {
    private static let documents = 3_000

    @Test(arguments: 1...5)
    func documentsReadAlikeExceptForIntendedDifferences(seed: UInt64) async {
        var generator = DocumentGenerator(seed: seed)
        let found = await survey(DocumentComparison.trees, seed: seed) { generator.document() }
        let expected: Set<IntendedDifference> = [
            .repeatedName, .equalNames, .trailingComma, .byteOrderMark, .otherEncoding, .inexactInteger, .hugeNumber,
            .longNumber,
        ]
        #expect(Set(found.keys) == expected, "seed \(seed)")
    }

    @Test(arguments: 1...5)
    func infosDecodeAlikeExceptForIntendedDifferences(seed: UInt64) async {
        var generator = DocumentGenerator(seed: seed)
        let found = await survey(DocumentComparison.infos, seed: seed) { TypedInfo.document(&generator) }
        let expected: Set<IntendedDifference> = [
            .repeatedName, .trailingComma, .inexactInteger, .fractionAsInteger, .unrequestedValue, .tinyNumber,
        ]
        #expect(Set(found.keys).isSuperset(of: expected), "seed \(seed)")
    }

    /// - Returns: The number of documents for each intended difference.
    private func survey<Value>(
        _ comparison: DocumentComparison<Value>,
        seed: UInt64,
        next: () -> [UInt8]
    ) async -> [IntendedDifference: Int] {
        var found: [IntendedDifference: Int] = [:]
        var read = 0
        for number in 0..<DifferentialTests.documents {
            // Lets other tests continue, so that their calls are not overdue.
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
        // Accepted and refused documents must both be frequent.
        #expect(
            (DifferentialTests.documents / 10...DifferentialTests.documents * 9 / 10).contains(read),
            "\(read) read"
        )
        return found
    }
}

/// A comparison of two readers that names the intended differences of their answers.
struct DocumentComparison<Value: Equatable> {
    /// Foundation's reader. It returns `nil` if it refuses the document.
    let foundation: ([UInt8]) -> Value?
    let signalbox: ([UInt8]) throws(BodyError) -> Value
    /// Whether Foundation's reader may skip a value that is not JSON.
    let isLazy: Bool

    /// - Returns: An empty array if both agree, or `nil` if they differ unintentionally.
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
            repair = known ?? (isLazy ? DocumentRepair.unrequested(document, because: error) : nil)
        }
        guard let repair, mostRepairs > 0, repair.document != document else { return nil }
        return differences(repair.document, mostRepairs: mostRepairs - 1).map { [repair.difference] + $0 }
    }
}

extension DocumentComparison<JSONForm> {
    /// A comparison of `JSONSerialization` with the reader.
    static var trees: DocumentComparison {
        DocumentComparison(foundation: JSONForm.foundation, signalbox: JSONForm.signalbox, isLazy: false)
    }
}

/// The comparison must find the faults planted into a reader.
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
    func intendedDifferencesAreNamed(_ text: String, expected: [IntendedDifference]) {
        #expect(DocumentComparison.trees.differences(Array(text.utf8)) == expected)
    }

    @Test func anOverlyLaxReaderIsDetected() {
        let lax = planted { document, answer in
            guard document.starts(with: Array("//".utf8)) else { return answer }
            return .success(.null)
        }
        #expect(lax.differences(Array("// a comment".utf8)) == nil)
    }

    @Test func anOverlyStrictReaderIsDetected() {
        let strict = planted { document, answer in
            document.contains(UInt8(ascii: "\t")) ? .failure(BodyError(.invalidSyntax, offset: 1)) : answer
        }
        #expect(strict.differences(Array("[\t1]".utf8)) == nil)
        #expect(strict.differences(Array("[ 1]".utf8)) == [])
    }

    @Test func aReaderThatReportsTheWrongPositionIsDetected() {
        let wrong = planted { document, answer in answer.mapError { BodyError($0.code, offset: 0) } }
        #expect(wrong.differences(Array(#"{"a":1,"a":2}"#.utf8)) == nil)
        #expect(wrong.differences(Array("[1,]".utf8)) == nil)
    }

    @Test(
        arguments: [
            JSONForm.number(1, integer: nil), .number(nil, integer: "1"), .number(-1, integer: "1"), .text("1"), .null,
        ])
    func aReaderThatReturnsAnotherValueIsDetected(_ value: JSONForm) {
        let other = planted { _, _ in .success(.list([value])) }
        #expect(other.differences(Array("[1]".utf8)) == nil)
    }

    @Test func aReaderThatLosesAMemberIsDetected() {
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

/// A JSON value that both Foundation and Signalbox can return.
indirect enum JSONForm: Equatable {
    case null
    case bool(Bool)
    /// The value as a `Double`, or `nil` if the reader refuses that, and the value as a 64-bit integer, if it is one.
    case number(Double?, integer: String?)
    case text(String)
    case list([JSONForm])
    case table([String: JSONForm])

    /// Returns the value that `JSONSerialization` reads, or `nil` if it refuses.
    static func foundation(_ document: [UInt8]) -> JSONForm? {
        (try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)).map(JSONForm.init)
    }

    /// Returns the value that Signalbox reads.
    ///
    /// - Throws: The reason of the refusal.
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
            // `Int64.min` comes as a decimal number.
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
