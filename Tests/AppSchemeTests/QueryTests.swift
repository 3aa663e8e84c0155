import AppScheme
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite struct QueryTests {
    @Test func allItemsAreMembersIfThePatternListsNone() throws {
        let routes = try AppRoutes("myapp://find/{kind}", "find")
        let action = try routes.action("myapp://find/lamp?q=a+b%2Bc&&empty&x=%C3%A9=%26#q=no")
        #expect(action.members == ["kind=lamp", "q=a b+c", "empty=", "x=é=&"])
        #expect(try routes.action("myapp://find/lamp?").members == ["kind=lamp"])
        #expect(try routes.action("myapp://find/lamp").members == ["kind=lamp"])
    }

    @Test func listedItemsAreRenamedAndOthersDropped() throws {
        let routes = try AppRoutes("myapp://find/{kind}?q={term}&page={number}", "find")
        #expect(
            try routes.action("myapp://find/lamp?page=2&x=1&q=red&term=no").members == [
                "kind=lamp", "term=red", "number=2",
            ]
        )
        #expect(try routes.action("myapp://find/lamp?q=").members == ["kind=lamp", "term="])
        #expect(try routes.action("myapp://find/lamp?Q=red").members == ["kind=lamp"])
    }

    @Test func anItemCanNameTheActionAndTheID() throws {
        let routes = try AppRoutes("myapp://do?a={action}&n={id}", nil)
        let action = try routes.action("myapp://do?n=7&a=open")
        #expect(action.name == "open")
        #expect(action.id?.text == "7")
        #expect(action.members.isEmpty)
        #expect(try routes.action("myapp://do?a=open").id == nil)
        #expect(routes.rejection("myapp://do?n=7")?.reason == .malformed)
        #expect(routes.rejection("myapp://do?a=&n=7")?.reason == .malformed)
        #expect(routes.rejection("myapp://do?a=open&n=")?.reason == .malformed)
    }

    @Test func aPathCaptureTakesPrecedenceOverAnItemOfTheSameName() throws {
        let routes = try AppRoutes("myapp://{area}/{number}", "open")
        let action = try routes.action("myapp://shop/42?number=43&area=bank&number=44&x=1")
        #expect(action.members == ["area=shop", "number=42", "x=1"])
    }

    @Test func anItemCannotReplaceTheActionOrTheID() throws {
        let routes = try AppRoutes("myapp://{action}/{id}", nil)
        let action = try routes.action("myapp://open/42?action=pay&id=7&x=1")
        #expect(action.name == "open")
        #expect(action.id?.text == "42")
        #expect(action.members == ["x=1"])
        let fixed = try AppRoutes("myapp://open", "open").action("myapp://open?action=pay&id=7")
        #expect(fixed.name == "open")
        #expect(fixed.id == nil)
        #expect(fixed.members == ["action=pay", "id=7"])
    }

    @Test(
        arguments: [
            ("myapp://find?q={term}", "q=1&q=1"), ("myapp://find?q={term}", "q=1&b=2&q"),
            ("myapp://find?q={term}", "%71=1&q=2"),
            ("myapp://find?%C3%A9={term}", "%C3%A9=1&e%CC%81=2"), ("myapp://find?e%CC%81={term}", "e%CC%81=1&%C3%A9=2"),
        ])
    func aDuplicateItemIsMalformed(_ pattern: String, query: String) throws {
        let rejection = try Missing.unwrap(try AppRoutes(pattern, "find").rejection("myapp://find?\(query)"))
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("twice"))
    }

    @Test func aRepeatedItemIsAListWhereAllAreTaken() throws {
        let routes = try AppRoutes("myapp://find", "find")
        #expect(try routes.action("myapp://find?a=1&b=2&a&%61=3").members == ["a=1,,3", "b=2"])
        #expect(try routes.action("myapp://find?a[]=1&a[]=2").members == ["a[]=1,2"])
        #expect(try routes.action("myapp://find?e%CC%81=1&%C3%A9=2").members == ["e\u{301}=1,2"])
    }

    @Test func aListDecodesAsOne() async throws {
        struct Info: Decodable, Sendable {
            let tag: [Int]
            let term: String
        }
        let trial = LinkTrial(try AppRoutes("myapp://find", "find"))
        let seen = CallList<[Int]>()
        let links = ["tag=1&term=x&tag=2", "tag=1&term=x", "tag=1&tag=2&term=x&term=y"].map { "myapp://find?\($0)" }
        let settled = try await trial.deliver(links) { supervisor in
            try supervisor.register(
                Registration("find", as: Info.self, from: .link(scheme: "myapp")) { info, _ in
                    seen.add(info.tag)
                }
            )
        }
        #expect(settled.map(\.outcome.code) == ["handled", "invalidBody", "invalidBody"])
        #expect(seen.all == [[1, 2]])
    }

    @Test(arguments: ["x=50%of", "%E9=1", "x=%E9", "%=", "x=%00"])
    func anItemThatCannotBeReadIsLeftOutAndCounted(_ item: String) throws {
        for pattern in ["myapp://find", "myapp://find?q={q}"] {
            let match = try AppRoutes(pattern, "find").match("myapp://find?\(item)&q=red")
            #expect(try match.reading.get().members == ["q=red"])
            #expect(match.unreadableItems == 1)
        }
    }

    @Test(arguments: ["id=42&id=%ZZ", "id=%ZZ&id=42", "id=%FF&%69d=42&id=%00"])
    func aReadableValueBesideAnUnreadableOneIsAList(_ query: String) throws {
        let match = try AppRoutes("myapp://find", "find").match("myapp://find?\(query)&x=1")
        let action = try match.reading.get()
        #expect(action.members == ["id=42", "x=1"])
        #expect(action.captures.map(\.isList) == [true, false])
        #expect(match.unreadableItems == query.split(separator: "&").count - 1)
        let named = try AppRoutes("myapp://find?id={id}", "find")
        #expect(named.rejection("myapp://find?\(query)")?.reason == .malformed)
    }

    @Test func unreadableItemsAreCountedWithTheArrivalAndInTheReport() async throws {
        struct Info: Decodable, Sendable {
            let id: Int
        }
        let trial = LinkTrial(try AppRoutes("myapp://find", "find"))
        let supervisor = trial.makeSupervisor()
        let seen = CallList<Int>()
        try supervisor.register(
            Registration("find", as: Info.self, from: .link(scheme: "myapp")) { info, _ in seen.add(info.id) }
        )
        try supervisor.add(trial.adapter)
        for query in ["id=42", "id=42&id=%ZZ", "id=7&x=%FF&%FF=1", "x=%"] { trial.inbox.open("myapp://find?\(query)") }
        let settled = try await supervisor.whileRunning {
            await trial.settled.wait { $0.count == 4 }.sorted { $0.token < $1.token }
        }
        #expect(settled.map(\.outcome.code) == ["handled", "invalidBody", "handled", "invalidBody"])
        #expect(settled.map(\.body) == [#"{"id":"42"}"#, #"{"id":["42"]}"#, #"{"id":"7"}"#, "{}"])
        #expect(settled.map(\.unreadableItems) == [0, 1, 2, 1])
        #expect(seen.all == [42, 7])
        #expect(supervisor.report.sources["links"]?.unreadableItems == 4)
        #expect(supervisor.report.total.unreadableItems == 4)
    }

    @Test func equivalentItemNamesAreTheSameItem() throws {
        #expect(throws: RoutePatternError.self) { try URLPattern("myapp://find?%C3%A9={a}&e%CC%81={b}") }
        let routes = try AppRoutes("myapp://find?%C3%A9={term}", "find")
        #expect(try routes.action("myapp://find?e%CC%81=1").members == ["term=1"])
    }

    @Test func anUnlistedItemMayOccurTwice() throws {
        let routes = try AppRoutes("myapp://find?q={term}", "find")
        #expect(try routes.action("myapp://find?tag=1&q=x&tag=2").members == ["term=x"])
    }

    @Test func theLengthOfAnItemNameIsLimited() throws {
        let routes = try AppRoutes("myapp://find", "find")
        let most = String(repeating: "n", count: AppRoutes.maximumItemName)
        #expect(try routes.action("myapp://find?\(most)=1").members == ["\(most)=1"])
        let rejection = try Missing.unwrap(routes.rejection("myapp://find?\(most)n=1"))
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("256 bytes"))
    }

    @Test func theNumberOfItemsIsLimited() throws {
        let routes = try AppRoutes("myapp://find/{n0}", "find")
        func link(_ count: Int) -> String {
            "myapp://find/x?" + (0..<count).map { "n\($0)=\($0)" }.joined(separator: "&")
        }
        // The path's capture hides the first item, which does not count.
        #expect(try routes.action(link(AppRoutes.maximumItems + 1)).captures.count == AppRoutes.maximumItems + 1)
        let rejection = try Missing.unwrap(routes.rejection(link(AppRoutes.maximumItems + 2)))
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("64 items"))
        #expect(routes.rejection(link(300))?.reason == .malformed)
    }

    @Test(arguments: ["q=%", "q=%4", "q=%zz", "q=%FF", "q=%00", "%71=%"])
    func anUnreadableItemOfTheRouteIsMalformed(_ query: String) throws {
        let rejection = try Missing.unwrap(
            try AppRoutes("myapp://find?q={term}", "find").rejection("myapp://find?\(query)")
        )
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("the link's query cannot be read"))
    }

    @Test func aLinkWithoutMembersDecodesIfAllMembersAreOptional() async throws {
        struct Info: Decodable, Sendable {
            let term: String?
        }
        let trial = LinkTrial(try AppRoutes("myapp://find?q={term}", "find"))
        let seen = CallList<String?>()
        let settled = try await trial.deliver(["myapp://find", "myapp://find?q=red"]) { supervisor in
            try supervisor.register(
                Registration("find", as: Info.self, from: .link(scheme: "myapp")) { info, _ in
                    seen.add(info.term)
                }
            )
        }
        #expect(settled.map(\.outcome.code) == ["handled", "handled"])
        #expect(seen.all == [nil, "red"])
    }

    @Test func membersConvertLikeAllURLText() async throws {
        struct Info: Decodable, Sendable, Equatable {
            let number: Int
            let isNew: Bool
            let text: String
            let missing: Int?
        }
        let trial = LinkTrial(try AppRoutes("myapp://open/{number}", "open"))
        let seen = CallList<Info>()
        let links = ["42?isNew=true&text=7", "042?isNew=true&text=7", "42?isNew=1&text=7"].map { "myapp://open/\($0)" }
        let settled = try await trial.deliver(links) { supervisor in
            try supervisor.register(
                Registration("open", as: Info.self, from: .link(scheme: "myapp")) { info, _ in seen.add(info) }
            )
        }
        #expect(settled.map(\.outcome.code) == ["handled", "invalidBody", "invalidBody"])
        #expect(seen.all == [Info(number: 42, isNew: true, text: "7", missing: nil)])
    }
}

/// Patterns and bodies convert the text of a URL by one rule, which each module implements.
@Suite struct ScalarAgreementTests {
    private static let signs = ["", "-", "+", " "]
    private static let numbers = [
        "0", "00", "01", "1", "42", "042", "9223372036854775807", "9223372036854775808", "-0", "1.0", "1e2", "0x1",
        "1_000", "",
        "99999999999999999999999999", "\u{661}", "1 ", "١٢", "true", "false", "True", "TRUE", "yes", "on", "null",
        "NaN",
    ]

    static let texts = signs.flatMap { sign in numbers.map { sign + $0 } }

    @Test(arguments: texts) func bodiesAndPatternsConvertTextAlike(_ text: String) throws {
        let body = try body(of: text)
        #expect((try? body.decode(Holder<Int64>.self))?.value == ScalarText.int64(text.utf8))
        #expect((try? body.decode(Holder<Bool>.self))?.value == ScalarText.bool(text.utf8))
    }

    private struct Holder<Value: Decodable & Sendable>: Decodable, Sendable {
        let value: Value
    }

    private func body(of text: String) throws -> Body {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let naming = RouteNaming(action: "try", captures: [RouteNaming.Capture(name: "value", value: text)])
        batch.append(
            UnsafeRawBufferPointer(start: nil, count: 0),
            token: 0,
            origin: Origin(source: "test", facts: TestFacts()),
            receivedAt: WallTime(seconds: 0),
            envelope: .route(naming)
        )
        let arrival = try #require(batch.take().first)
        return try arrival.reading.get().body
    }

    private struct TestFacts: OriginFacts {
        static let kind = "test"
    }
}
