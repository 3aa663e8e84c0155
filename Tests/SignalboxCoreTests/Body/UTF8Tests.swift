import SignalboxCore
import Testing

@Suite struct UTF8Tests {
    /// All pairs of a first and a second byte, followed by tails, at nine places in a string.
    @Test func stringsAreAcceptedExactlyWhenTheyAreUTF8() {
        for first in UInt8(0x80)...0xFF {
            for second in stride(from: 0x20, through: 0xFF, by: first < 0xF5 ? 1 : 37) {
                guard second != 0x22, second != 0x5C else { continue }
                for tails in 0...2 {
                    check([first, UInt8(second)] + [UInt8](repeating: 0xBF, count: tails), shift: tails)
                }
            }
        }
    }

    @Test(arguments: 0...9)
    func boundarySequencesAreDecidedAtEveryAlignment(shift: Int) {
        let good: [[UInt8]] = [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
            [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
        ]
        let bad: [[UInt8]] = [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC2], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
        ]
        for sequence in good + bad { check(sequence, shift: shift) }
        for sequence in good { #expect(Reading.error(quoted(sequence, shift: shift)) == nil) }
        for sequence in bad {
            let error = Reading.error(quoted(sequence, shift: shift))
            #expect(error?.code == .invalidUTF8)
            #expect(error?.offset == shift + 1)
        }
    }

    @Test func payloadsOfTextAreChecked() throws {
        let text = "plain ascii text, then \u{E9}\u{65E5}\u{1F600}"
        let body = try Reading.body(Array(text.utf8), payload: .text)
        #expect(try body.decode(String.self) == text)
        let bad = Reading.arrival([0x61, 0xC3], envelope: Reading.anyRoute, payload: .text)
        #expect(throws: Outcome.Rejection(.malformed, BodyError(.invalidUTF8, offset: 1))) { try bad?.reading.get() }
    }

    private func check(_ sequence: [UInt8], shift: Int) {
        let isValid = String(validating: sequence, as: UTF8.self) != nil
        let error = Reading.error(quoted(sequence, shift: shift))
        #expect((error == nil) == isValid, "\(sequence) at \(shift)")
    }

    private func quoted(_ sequence: [UInt8], shift: Int) -> [UInt8] {
        Array("\"".utf8) + [UInt8](repeating: 0x61, count: shift) + sequence + Array("\"".utf8)
    }
}
