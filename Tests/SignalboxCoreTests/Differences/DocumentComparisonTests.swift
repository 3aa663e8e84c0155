import SignalboxCore
import Testing

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
