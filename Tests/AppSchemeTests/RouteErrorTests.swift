import AppScheme
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct RouteErrorTests {
    private static func error(_ routes: [AppRoute]) -> AppSchemeError? {
        do {
            _ = try AppRoutes(routes)
            return nil
        } catch {
            return error
        }
    }

    private static func error(_ pattern: String, _ action: ActionName?, once: Bool = false) throws -> AppSchemeError? {
        error([AppRoute(try URLPattern(pattern), action: action, once: once)])
    }

    @Test func aPatternWithoutASchemeIsRefused() throws {
        let error = try Missing.unwrap(try Self.error("/product/{id}", "open"))
        #expect(error.code == .missingScheme)
        #expect(error.description.contains(#""/product/{id}""#))
    }

    @Test(
        arguments: [
            "javascript:{x...}", "JavaScript:{x...}", "data:{x...}", "file:///{x...}", "about:blank", "blob:{x...}",
            "intent://{x...}", "vbscript:{x...}", "content://{x...}", "filesystem:{x...}", "jar:{x...}",
            "view-source:{x...}",
        ])
    func aSchemeThatRunsCodeOrReadsFilesIsRefused(_ pattern: String) throws {
        #expect(try Self.error(pattern, "open")?.code == .forbiddenScheme)
    }

    @Test func aRouteMustNameItsActionExactlyOnce() throws {
        #expect(try Self.error("myapp://product/{id}", nil)?.code == .missingAction)
        #expect(try Self.error("myapp://{action}", "open")?.code == .conflictingAction)
        #expect(try Self.error("myapp://do?a={action}", "open")?.code == .conflictingAction)
        #expect(try Self.error("myapp://do?a={action}", nil) == nil)
        #expect(try Self.error("myapp://{action}", nil) == nil)
    }

    @Test func aOneTimeLinkHasNoOtherID() throws {
        #expect(try Self.error("myapp://join/{id}", "join", once: true)?.code == .conflictingID)
        #expect(try Self.error("myapp://join?i={id}", "join", once: true)?.code == .conflictingID)
        #expect(try Self.error("myapp://join/{token}", "join", once: true) == nil)
    }

    @Test(
        arguments: [
            ("myapp://product/{id}", "myapp://product/{number}"), ("myapp://product/x", "MYAPP://Product/x"),
            ("myapp://product/x", "myapp://product/x/"), ("myapp://find?q={a}", "myapp://find"),
        ])
    func twoRoutesForTheSameLinksAreRefusedAndBothNamed(_ one: String, other: String) throws {
        let routes = [one, other].map { try? AppRoute(URLPattern($0), action: "open") }.compactMap { $0 }
        let error = try Missing.unwrap(Self.error(routes))
        #expect(error.code == .ambiguousRoutes)
        #expect(error.description.contains(one))
        #expect(error.description.contains(other))
    }

    @Test func theNumberOfRoutesHasBounds() throws {
        #expect(Self.error([])?.code == .routeCount)
        let routes = try (0...AppRoutes.maximumRoutes).map {
            try AppRoute(URLPattern("myapp://x/\($0)"), action: "open")
        }
        #expect(Self.error(routes)?.code == .routeCount)
        #expect(try AppRoutes(Array(routes.dropLast())).action("myapp://x/9999").name == "open")
    }

    @Test func eachErrorSaysWhichRouteItIsAboutAndHasAWord() throws {
        let error = try Missing.unwrap(try Self.error("myapp://product/{id}", nil))
        #expect(error.code.description == "missingAction")
        #expect(error.detail == #"route "myapp://product/{id}" names no action; use {action} or a fixed action"#)
    }
}
