import SignalboxCore
import Testing

@Suite struct AccessAnswerTests {
    private static let links = Origin(source: "links", facts: AccessRuleTests.AnybodysFacts())
    private static let push = Origin(source: "push", facts: TestFacts(note: "here"))
    private static let anybody = AccessRule("anybody's", naming: AccessRuleTests.AnybodysFacts.self) { _, _ in true }
    private static let everything = AccessRule("everything") { _ in true }
    private static let nothing = AccessRule("nothing") { _ in false }

    @Test(
        arguments: [
            (.source("push"), "allowed by source push"), (.source("chat"), "refused by source chat"),
            (.any([]), "refused by any of ()"), (.all([]), "refused by all of ()"),
            (.any([.source("chat"), .source("push"), everything]), "allowed by source push"),
            (.any([.source("chat"), nothing]), "refused by any of (source chat; nothing)"),
            (.any([nothing]), "refused by nothing"), (.any([.all([nothing])]), "refused by nothing"),
            (.all([everything, .source("chat"), nothing]), "refused by source chat"),
            (.all([everything, .source("push")]), "allowed by all of (everything; source push)"),
            (
                .all([everything, .any([.source("chat"), .not(everything)])]),
                "refused by any of (source chat; not (everything))"
            ),
            (.not(.source("push")), "refused by not (source push)"), (.not(nothing), "allowed by not (nothing)"),
            (
                .any([.all([.source("push"), .not(nothing)]), nothing]),
                "allowed by all of (source push; not (nothing))"
            ),
        ] as [(AccessRule, String)]
    )
    func anAnswerNamesThePartThatDecided(_ rule: AccessRule, text: String) {
        #expect(rule.answer(to: Self.push).description == text)
        #expect(!rule.answer(to: Self.push).lacksName)
    }

    @Test(
        arguments: [
            (.source("links"), "source links", false), (anybody, "anybody's", false), (everything, "everything", true),
            (nothing, "nothing", false), (.any([everything, nothing]), "any of (everything; nothing)", true),
            (.any([everything, anybody]), "anybody's", false), (.not(nothing), "not (nothing)", true),
            (.all([everything, .not(nothing)]), "all of (everything; not (nothing))", true),
            (.all([everything, nothing, anybody]), "nothing", false), (.all([]), "all of ()", false),
            (.not(.not(.source("links"))), "not (not (source links))", true),
        ] as [(AccessRule, String, Bool)]
    )
    func anAnswerSaysWhereAnOriginWouldHaveToBeNamed(_ rule: AccessRule, decidedBy: String, lacksName: Bool) {
        let answer = rule.answer(to: Self.links)
        #expect(answer.decidedBy == decidedBy)
        #expect(answer.lacksName == lacksName)
        #expect(answer.isAllowed == rule.allows(Self.links))
        #expect(answer.description.contains("anybody may stand") == lacksName)
    }

    /// Every rule that two levels of composition make of a few.
    @Test func anAnswerAgreesWithTheRule() {
        let leaves: [AccessRule] = [.source("links"), .source("push"), Self.anybody, Self.everything, Self.nothing]
        func composed(_ rules: [AccessRule]) -> [AccessRule] {
            rules.map(AccessRule.not)
                + rules.flatMap { left in rules.flatMap { [AccessRule.any([left, $0]), .all([left, $0])] } }
        }
        let small = composed(leaves)
        let all = leaves + small + composed(leaves + small.prefix(20))
        for rule in all {
            for origin in [Self.links, Self.push] {
                let answer = rule.answer(to: origin)
                #expect(answer.isAllowed == rule.allows(origin), "\(rule)")
                #expect(rule.description.contains(answer.decidedBy), "\(rule)")
                #expect(!answer.lacksName || !answer.isAllowed)
            }
        }
        #expect(all.count > 1_000)
    }
}
