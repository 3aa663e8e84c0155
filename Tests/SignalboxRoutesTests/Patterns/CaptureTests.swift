import SignalboxRoutes
import Testing

@Suite struct CaptureTests {
    @Test func anIntegerIsTakenInOneFormOnly() {
        for item in CaptureScalarCases.integers {
            #expect(ScalarText.int64(item.text.utf8) == item.value, "\(item.text.debugDescription)")
            let captures = RouteCaptures([RouteCapture(name: "n", value: item.text)])
            #expect(captures.int("n") == item.value.map { Int($0) }, "\(item.text.debugDescription)")
        }
    }

    @Test func aTruthValueIsTakenInOneFormOnly() {
        for item in CaptureScalarCases.booleans {
            let captures = RouteCaptures([RouteCapture(name: "b", value: item.text)])
            #expect(captures.bool("b") == item.value, "\(item.text.debugDescription)")
        }
    }

    @Test func aCaptureThatIsNotThereHasNoValue() {
        let captures = RouteCaptures([RouteCapture(name: "a", value: "7")])
        #expect(captures["b"] == nil && captures.int("b") == nil && captures.bool("b") == nil)
        #expect(captures["a"] == "7" && captures.int("a") == 7 && captures.bool("a") == nil)
        #expect(RouteCaptures().isEmpty && RouteCaptures()["a"] == nil)
    }

    /// Whether a number or UUID is taken is decided by the same rule whatever the pattern is of.
    @Test func numbersInURLsAndTopicsAreTheSame() throws {
        let url = try URLPattern("myapp:{n:int}")
        let topic = try TopicPattern("{n:int}")
        for item in CaptureScalarCases.integers {
            #expect((topic.match(item.text) != nil) == (item.value != nil), "\(item.text.debugDescription)")
            guard let found = try? URLText("myapp:\(item.text)") else { continue }
            #expect((url.match(found) != nil) == (item.value != nil), "\(item.text.debugDescription)")
        }
    }

    @Test(arguments: [
        "621425B8-42D1-4AB4-9A58-1E69D708A84B", "621425b8-42d1-4ab4-9a58-1e69d708a84b",
        "00000000-0000-0000-0000-000000000000", "ffffffff-FFFF-ffff-FFFF-ffffffffffff",
    ])
    func aUUIDHasFiveGroupsInEitherCase(text: String) throws {
        let captures = try URLPattern("myapp://user/{id:uuid}").match(URLText("myapp://user/\(text)"))
        #expect(captures == RouteCaptures([RouteCapture(name: "id", value: text, kind: .uuid)]))
        #expect(try TopicPattern("user/{id:uuid}").match("user/\(text)")?["id"] == text)
    }

    @Test(arguments: [
        "621425B842D14AB49A581E69D708A84B", "{621425B8-42D1-4AB4-9A58-1E69D708A84B}",
        "621425B8-42D1-4AB4-9A58-1E69D708A84",
        "621425B8-42D1-4AB4-9A58-1E69D708A84BC", "G21425B8-42D1-4AB4-9A58-1E69D708A84B",
        "621425B8_42D1_4AB4_9A58_1E69D708A84B", "621425B842-D1-4AB4-9A58-1E69D708A84B", "",
        "urn:uuid:621425B8-42D1-4AB4-9A58-1E69D708A84B", "621425B8-42D1-4AB4-9A58-1E69D708A84\u{FF22}", "-",
    ])
    func noOtherFormIsAUUID(text: String) throws {
        #expect(try TopicPattern("user/{id:uuid}").match("user/\(text)") == nil)
    }

    @Test func capturesAreEqualWhenTheirBytesAre() {
        let composed = RouteCapture(name: "a", value: "caf\u{E9}")
        let decomposed = RouteCapture(name: "a", value: "cafe\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        #expect(RouteCapture(name: "a", value: "1", kind: .int) != RouteCapture(name: "a", value: "1"))
    }

    @Test func kindsHaveNames() {
        #expect([CaptureKind.text, .int, .uuid, .rest].map(\.description) == ["text", "int", "uuid", "rest"])
    }
}
