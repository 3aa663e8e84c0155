import NavigationChain
import SignalboxRoutes
import Testing

@Suite struct ChainOrderTests {
    private let chain: NavigationRouter

    init() throws {
        chain = try NavigationRouter(fallback: .nothing) {
            for name in ["one", "two", "three"] { Looking(name: name) }
        }
    }

    @Test func eachChangeIsAnotherChainAndTheFirstStays() throws {
        let new = Looking(name: "new")
        #expect(try chain.inserting(new, before: "one").handlerNames == ["new", "one", "two", "three"])
        #expect(try chain.inserting(new, before: "three").handlerNames == ["one", "two", "new", "three"])
        #expect(try chain.inserting(new, after: "one").handlerNames == ["one", "new", "two", "three"])
        #expect(try chain.inserting(new, after: "three").handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.inserting(new, at: 0).handlerNames == ["new", "one", "two", "three"])
        #expect(try chain.inserting(new, at: 3).handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.appending(new).handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.removing(named: "two").handlerNames == ["one", "three"])
        #expect(try chain.replacing(named: "two", with: new).handlerNames == ["one", "new", "three"])
        #expect(try chain.reordered(by: ["three", "one", "two"]).handlerNames == ["three", "one", "two"])
        #expect(chain.handlerNames == ["one", "two", "three"])
    }

    @Test func aReplacementMayKeepTheName() async throws {
        let replaced = try chain.replacing(named: "two", with: Looking(name: "two") { _ in .all })
        #expect(await replaced.decide(try request("https://shop.example/")).decider == "two")
        #expect(await chain.decide(try request("https://shop.example/")).decider == "fallback")
    }

    @Test func aNameThatIsNotThereIsRefused() {
        let new = Looking(name: "new")
        #expect(code { _ = try chain.inserting(new, before: "four") } == .unknownName)
        #expect(code { _ = try chain.inserting(new, after: "four") } == .unknownName)
        #expect(code { _ = try chain.removing(named: "four") } == .unknownName)
        #expect(code { _ = try chain.replacing(named: "four", with: new) } == .unknownName)
        #expect(code { _ = try chain.reordered(by: ["one", "two", "three", "four"]) } == .unknownName)
    }

    @Test func anOrderNamesEachHandlerOnce() {
        #expect(code { _ = try chain.reordered(by: ["one", "two"]) } == .invalidOrder)
        #expect(code { _ = try chain.reordered(by: ["one", "two", "three", "one"]) } == .invalidOrder)
        #expect(code { _ = try chain.reordered(by: []) } == .invalidOrder)
    }

    @Test(arguments: [-1, 4, .max, .min])
    func aPlaceThatTheChainHasNotIsRefused(place: Int) {
        #expect(code { _ = try chain.inserting(Looking(name: "new"), at: place) } == .invalidPosition)
    }

    @Test func twoHandlersOfOneNameAreRefused() {
        #expect(code { _ = try chain.appending(Looking(name: "two")) } == .duplicateName)
        #expect(code { _ = try chain.replacing(named: "one", with: Looking(name: "two")) } == .duplicateName)
        #expect(
            code { _ = try NavigationRouter([Looking(name: "a"), Prompt(name: "a")], fallback: .all) } == .duplicateName
        )
    }

    @Test(arguments: [
        "", "fallback", "url", "caller", "a\nb", "\u{1B}[2J", "a\u{202E}b", String(repeating: "a", count: 129),
    ])
    func aNameThatAVerdictCouldNotShowIsRefused(name: String) {
        #expect(code { _ = try NavigationRouter([Looking(name: name)], fallback: .all) } == .invalidName)
    }

    @Test func aChainHasABoundedNumberOfHandlers() throws {
        let names = (0..<NavigationRouter.maximumHandlers).map { "handler \($0)" }
        let full = try NavigationRouter(names.map { Looking(name: $0) }, fallback: .all)
        #expect(full.handlerNames == names)
        #expect(code { _ = try full.appending(Looking(name: "one more")) } == .tooManyHandlers)
    }

    @Test func theBuilderTakesBranchesAndLoops() throws {
        func names(isShop: Bool) throws -> [String] {
            try NavigationRouter(fallback: .all) {
                if isShop { Looking(name: "shop") }
                if isShop {
                    Looking(name: "open")
                } else {
                    Looking(name: "closed")
                }
                for number in 1...2 { Looking(name: "\(number)") }
                [Looking(name: "a"), Looking(name: "b")]
            }.handlerNames
        }
        #expect(try names(isShop: true) == ["shop", "open", "1", "2", "a", "b"])
        #expect(try names(isShop: false) == ["closed", "1", "2", "a", "b"])
    }

    @Test func anErrorNamesTheHandlerInOneLine() throws {
        let error = try #require(throws: NavigationChainError.self) { try chain.removing(named: "four\n") }
        #expect(
            error.description
                == "navigation handler four\\u{a}: the chain has no handler of this name; it has one, two, three"
        )
    }
}
