import SignalboxRoutes
import Testing

@Suite struct TopicPatternTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let pattern, filter, topic: String
        let captures: [String]?

        init(_ pattern: String, _ filter: String, _ topic: String, _ captures: [String]?) {
            self.pattern = pattern
            self.filter = filter
            self.topic = topic
            self.captures = captures
        }

        var testDescription: String { "\(pattern) on \(topic)" }
    }

    @Test(arguments: [
        Case("push/{device}/{action}", "push/+/+", "push/d-1/loading", ["device=d-1", "action=loading"]),
        Case("push/{device}/{action}", "push/+/+", "push//", ["device=", "action="]),
        Case("push/{device}/{action}", "push/+/+", "push/d", nil),
        Case("push/{device}/{action}", "push/+/+", "push/d/a/x", nil),
        Case("{a}", "+", "x", ["a=x"]),
        Case("{a}", "+", "$SYS", nil),
        Case("/{a}", "/+", "/x", ["a=x"]),
        Case("{a}/", "+/", "x/", ["a=x"]),
        Case("+/{b}/+/{d}", "+/+/+/+", "1/2/3/4", ["b=2", "d=4"]),
        Case("a/{b}/#", "a/+/#", "a/x", ["b=x"]),
        Case("a/{b}/#", "a/+/#", "a/x/y/z", ["b=x"]),
        Case("a/{rest...}", "a/#", "a", ["rest="]),
        Case("a/{rest...}", "a/#", "a/", ["rest="]),
        Case("a/{rest...}", "a/#", "a//", ["rest=/"]),
        Case("a/{rest...}", "a/#", "a/b/c", ["rest=b/c"]),
        Case("a/{rest...}", "a/#", "ab", nil),
        Case("{all...}", "#", "a/b", ["all=a/b"]),
        Case("{all...}", "#", "$SYS/x", nil),
        Case("$SYS/{all...}", "$SYS/#", "$SYS/x/y", ["all=x/y"]),
        Case("{x}/{rest...}", "+/#", "a", ["x=a", "rest="]),
        Case("$share/g/{x}/{rest...}", "$share/g/+/#", "a/b", ["x=a", "rest=b"]),
        Case("$share/g/{x}", "$share/g/+", "$share/g/a", nil),
        Case("a/b", "a/b", "a/b", []),
        Case("日本/{x}/é", "日本/+/é", "日本/🚦/é", ["x=🚦"]),
        Case("a/{x}/b", "a/+/b", "a/\u{301}y/b", ["x=\u{301}y"]),
        Case("a/{x}", "a/+", "a/{x}", ["x={x}"]),
        Case("{a_1}/{A1_}", "+/+", "b/c", ["a_1=b", "A1_=c"]),
        Case("a/{x}", "a/+", "a/#", nil),
    ])
    func aPatternCapturesTopicLevels(_ given: Case) throws {
        let pattern = try TopicPattern(given.pattern)
        #expect(pattern.filter.text == given.filter)
        let found = pattern.match(given.topic)?.map { "\($0.name)=\($0.value)" }
        #expect(found == given.captures)
        #expect(pattern.filter.matches(given.topic) == (found != nil))
    }

    @Test(arguments: [
        Case("push/{n:int}", "push/+", "push/42", ["n=42"]),
        Case("push/{n:int}", "push/+", "push/-0", ["n=-0"]),
        Case("push/{n:int}", "push/+", "push/042", nil),
        Case("push/{n:int}", "push/+", "push/", nil),
        Case("push/{n:int}", "push/+", "push/x", nil),
        Case("push/{n:int}", "push/+", "push/%34", nil),
        Case("{n:int}/{rest...}", "+/#", "1", ["n=1", "rest="]),
        Case("{n:int}/{rest...}", "+/#", "x/1", nil),
        Case("{a}/{n:int}/{b}", "+/+/+", "x/7/y", ["a=x", "n=7", "b=y"]),
        Case("{a}/{n:int}/{b}", "+/+/+", "x/y/7", nil),
        Case("$share/g/a/{n:int}", "$share/g/a/+", "a/9223372036854775807", ["n=9223372036854775807"]),
        Case("$share/g/a/{n:int}", "$share/g/a/+", "a/9223372036854775808", nil),
    ])
    func aCaptureKindRestrictsTheMatchButNotTheFilter(_ given: Case) throws {
        let pattern = try TopicPattern(given.pattern)
        #expect(pattern.filter.text == given.filter)
        #expect(pattern.filter.matches(given.topic))
        #expect(pattern.match(given.topic)?.map { "\($0.name)=\($0.value)" } == given.captures)
    }

    @Test func aTopicCaptureHasItsKind() throws {
        let found = try TopicPattern("{a}/{b:int}/{c:uuid}/{d...}").match("x/1/621425b8-42d1-4ab4-9a58-1e69d708a84b/y")
        #expect(found?.map(\.kind) == [.text, .int, .uuid, .rest])
    }

    @Test(arguments: ["{a:}", "{a:Int}", "{a:text}", "{a:rest}", "{a:float}", "{a:int:int}", "{a: int}"])
    func anUnknownKindIsRefused(text: String) {
        expectError("x/" + text, .unknownKind, 2)
    }

    @Test func aPatternReportsItsCaptureNames() throws {
        #expect(try TopicPattern("push/{device}/+/{action}/{rest...}").captureNames == ["device", "action", "rest"])
    }

    @Test(arguments: ["a{b}", "{b}c", "{a}{b}", "{", "}", "{a", "a}", "}a{", "x/{a/b}", "{{a}}", "{a}}", "{a{b}"])
    func bracesMustEncloseAWholeLevel(text: String) {
        let error = #expect(throws: TopicError.self) { try TopicPattern(text) }
        #expect(error?.reason == .captureNotAlone)
    }

    @Test(arguments: [
        "{}", "{...}", "{1a}", "{_a}", "{a-b}", "{a b}", "{a.b}", "{a..}", "{a....}", "{é}", "{+}", "{#}", "{:int}",
        "{a:int...}",
    ])
    func aCaptureNeedsAValidName(text: String) {
        let error = #expect(throws: TopicError.self) { try TopicPattern("x/" + text) }
        #expect(error?.reason == .invalidCaptureName)
        #expect(error?.offset == 2)
    }

    @Test func aDuplicateCaptureNameIsRefused() {
        expectError("{a}/{b}/{a}", .duplicateCapture, 8)
        expectError("{a}/{a...}", .duplicateCapture, 4)
    }

    @Test func aRestCaptureMustBeLast() {
        expectError("a/{rest...}/b", .restNotLast, 2)
        expectError("a/{rest...}/", .restNotLast, 2)
        expectError("a/{rest...}/{b...}", .restNotLast, 2)
    }

    @Test func filterErrorsHaveTheirPositionInThePattern() {
        expectError("", .empty, 0)
        expectError("{device}/b+", .wildcardNotAlone, 10)
        expectError("{device}/{action}/#/x", .multiLevelNotLast, 18)
        expectError("{device}/\u{0}", .nullCharacter, 9)
        expectError("$share/{group}/a", .invalidShareName, 7)
        expectError("$share/{group...}", .invalidShareName, 7)
        expectError("$share/g/", .missingSharedFilter, 9)
        expectError("$share", .missingSharedFilter, 6)
    }

    @Test func theNumberOfCapturesIsLimited() throws {
        let most = (1...TopicPattern.maximumCaptures).map { "{c\($0)}" }.joined(separator: "/")
        let topic = (1...TopicPattern.maximumCaptures).map { "v\($0)" }.joined(separator: "/")
        let found = try TopicPattern(most).match(topic)
        #expect(found?.map(\.name) == (1...TopicPattern.maximumCaptures).map { "c\($0)" })
        #expect(found?.map(\.value) == (1...TopicPattern.maximumCaptures).map { "v\($0)" })
        expectError(most + "/{c65}", .tooManyCaptures, most.utf8.count + 1)
    }

    @Test func lengthsAreLimited() throws {
        let name = String(repeating: "n", count: 64)
        #expect(try TopicPattern("{\(name)}").captureNames == [name])
        expectError("{\(name)n}", .invalidCaptureName, 0)
        expectError("{a}/" + String(repeating: "b", count: 65_532), .tooLong, 65_535)
    }

    @Test func anInvalidTopicNameMatchesNoPattern() throws {
        let pattern = try TopicPattern("a/{b}")
        #expect(pattern.match("") == nil)
        #expect(pattern.match("a/+") == nil)
        #expect(pattern.match("a/\u{0}") == nil)
    }

    private func expectError(_ text: String, _ reason: TopicError.Reason, _ offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicPattern(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}
